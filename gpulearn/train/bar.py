"""The progress bar: in a notebook and in a terminal, not in a log file."""

from __future__ import annotations

import contextlib
from typing import Any

from gpulearn import require

__all__ = ["progress_bar"]


def progress_bar(
    show: bool,
    total: int | None,
    done: int = 0,
    doing: str = "training",
    unit: str = " steps",
    stays: bool = True,
) -> contextlib.AbstractContextManager[Any]:
    """A bar over `total` steps of which `done` are done; None without tqdm."""
    if not show or require.installed("tqdm") is None:
        return contextlib.nullcontext()
    tqdm = require.package("tqdm.auto", "A progress bar").tqdm
    # `disable=None`: no bar where the output is no terminal, since it fills a log with its lines
    bar: contextlib.AbstractContextManager[Any] = tqdm(
        total=total, initial=done, disable=None, unit=unit, desc=doing, leave=stays
    )
    return bar

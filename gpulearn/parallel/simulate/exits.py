"""A simulated rank that would end its process, which is the notebook's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["exits_fail"]


@contextlib.contextmanager
def exits_fail(rank_of: Callable[[], int | None]) -> Iterator[None]:
    """While simulated ranks run, `os._exit` in one of them fails that rank.

    Args:
        rank_of: says which rank the thread is that asks, or None.
    """
    before, process = os._exit, os.getpid()

    def leave(status: int) -> Any:
        # a process that a rank has made, such as a loader's worker, may end as it likes
        if os.getpid() != process or rank_of() is None:
            return before(status)
        raise SystemExit(
            f"os._exit({status}) would end the notebook, in whose process simulated ranks run: "
            f"return instead, or let gl.launch start real ranks"
        )

    os._exit = leave
    try:
        yield
    finally:
        os._exit = before

"""Where the records of watched ranks go, and what is told of them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gpulearn.parallel.watch.finding import Finding

FOLDER = "GPULEARN_WATCH"  # the environment variable that names it


@contextlib.contextmanager
def records(watch: bool = True) -> Iterator[str]:
    """A new folder; without `watch` the one that a command has named, or none."""
    if not watch:
        yield os.environ.get(FOLDER, "")
        return
    with tempfile.TemporaryDirectory(prefix="gpulearn-ranks-") as folder:
        yield folder


def told(folder: str, *, failed: bool, file: TextIO | None = None) -> Sequence[Finding]:
    """Print what the records show, and return it."""
    from gpulearn.parallel.watch.report import as_text, findings_in, records_in

    findings = findings_in(Path(folder), failed=failed)
    print(as_text(findings, records_in(Path(folder))), file=file, flush=True)
    return findings

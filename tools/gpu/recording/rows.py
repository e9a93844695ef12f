"""Recordings that are on disk while they are still being measured.

A step that runs out of time, or dies with its process, leaves what it had found.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpulearn.perf.recordings import Recording, recorded_here, save

__all__ = ["Rows", "Saver"]

SECONDS = 1.0  # between two times that a file is written


class Saver:
    """Saves a growing recording, not more often than every so many seconds."""

    def __init__(self, folder: Path, every: float = SECONDS) -> None:
        self.folder, self.every = folder, every
        self._written = -math.inf

    def __call__(self, recording: Recording) -> None:
        """Save it if the time has passed."""
        if time.monotonic() - self._written > self.every:
            save(recording, self.folder)
            self._written = time.monotonic()


class Rows:
    """A recording to which rows are added as they come.

    Args:
        name: the recording's.
        folder: where its file goes.
        on: "cuda" or "cpu", as in `recorded_here`.
    """

    def __init__(self, name: str, folder: Path, on: str = "cuda") -> None:
        self.folder = folder
        self._empty = recorded_here(name, [], on)
        self._rows: list[dict[str, Any]] = []
        self._see = Saver(folder)

    @property
    def recording(self) -> Recording:
        """What there is so far."""
        return replace(self._empty, rows=list(self._rows))

    def add(self, **row: Any) -> None:
        """One more row; values that are None are left out."""
        self._rows.append({key: value for key, value in row.items() if value is not None})
        self._see(self.recording)

    def write(self) -> Recording:
        """Write the file with all its rows."""
        save(self.recording, self.folder)
        return self.recording

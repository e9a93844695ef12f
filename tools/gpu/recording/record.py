"""Makes one recording in this process and keeps its rows on disk as they come.

A step that runs out of time, or dies with its process, leaves what it had found.
"""

from __future__ import annotations

import argparse
import importlib
import math
import pkgutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.perf import recorders
from gpulearn.perf.recordings import Recording, growing, recorded_here, save
from tools.gpu import recording

__all__ = ["Maker", "Rows", "Saver", "families", "main", "maker"]

SECONDS = 1.0  # between two times that a file is written

FOLDERS = (recorders, recording)  # with a module for each recording that a figure shows
# name → function of `tools.gpu.ladder.recording`, sizes of a rehearsal
LADDER: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ladder": ("record_ladder", {"sizes": (16,), "seconds": 0.01}),
    "ladder-ideas": ("record_ideas", {"n": 16, "seconds": 0.01}),
}


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


@dataclass(frozen=True)
class Maker:
    """Who makes a recording: a module's function, and with what to call it in a rehearsal."""

    function: Callable[..., Recording]
    rehearsal: Mapping[str, Any] = field(default_factory=dict)

    def make(self, rehearse: bool) -> Recording:
        """Measure."""
        return self.function(**self.rehearsal if rehearse else {})


def families() -> list[str]:
    """The names of all recordings that the notebooks load, from the folders that hold them."""
    return sorted(_modules())


def _modules() -> dict[str, str]:
    """Each recording's module, by the recording's name; none is imported."""
    found = {}
    for folder in FOLDERS:
        for name in (m.name for m in pkgutil.iter_modules(folder.__path__)):
            spec = find_spec(f"{folder.__name__}.{name}")
            assert spec is not None
            text = Path(str(spec.origin)).read_text(encoding="utf-8")
            if f"def record_{name}(" in text:
                found[name] = spec.name
    return found


def maker(name: str) -> Maker:
    """Who makes a recording; its module is imported now: what is broken there costs one step.

    Raises:
        BadInput: there is no recording of that name.
    """
    modules = _modules()
    if require.choice("recording", name, {*LADDER, *modules}) in LADDER:
        ladder = importlib.import_module("tools.gpu.ladder.recording")
        function, rehearsal = LADDER[name]
        return Maker(getattr(ladder, function), rehearsal)
    family = importlib.import_module(modules[name])
    return Maker(getattr(family, f"record_{name}"), family.REHEARSAL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a recording; return the exit status: 1 where a row has an error, or there are none."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.recording.record")
    parser.add_argument("name")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    chosen = maker(given.name)
    with growing(Saver(given.folder)):
        made = chosen.make(given.rehearse)
    save(made, given.folder)
    faults = [row for row in made.rows if "error" in row]
    for row in faults:
        print(f"without a time: {row}")
    print(f"{len(made.rows) - len(faults)} of {len(made.rows)} rows")
    return 1 if faults or not made.rows else 0


if __name__ == "__main__":
    sys.exit(main())

"""Makes one recording in this process and keeps its rows on disk as they come."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpulearn import recorders, require
from gpulearn.perf.recordings import Recording, growing, save
from tools.gpu.recording.rows import Saver

__all__ = ["Maker", "families", "main", "maker"]

# name → function of `tools.gpu.ladder.recording`, sizes of a rehearsal
LADDER: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ladder": ("record_ladder", {"sizes": (16,), "seconds": 0.01}),
    "ladder-ideas": ("record_ideas", {"n": 16, "seconds": 0.01}),
}


@dataclass(frozen=True)
class Maker:
    """Who makes a recording: a module's function, and with what to call it in a rehearsal."""

    function: Callable[..., Recording]
    rehearsal: Mapping[str, Any] = field(default_factory=dict)

    def make(self, rehearse: bool) -> Recording:
        """Measure."""
        return self.function(**self.rehearsal if rehearse else {})


def families() -> list[str]:
    """The names of all recordings that the notebooks load, from the folder that holds them."""
    found = (f"{recorders.__name__}.{m.name}" for m in pkgutil.iter_modules(recorders.__path__))
    specs = {name.rpartition(".")[2]: find_spec(name) for name in found}
    return [name for name, spec in specs.items() if spec and _records(spec, name)]


def _records(spec: ModuleSpec, name: str) -> bool:
    """Whether a module makes a recording, told without importing it."""
    return f"def record_{name}(" in Path(str(spec.origin)).read_text(encoding="utf-8")


def maker(name: str) -> Maker:
    """Who makes a recording; its module is imported now: what is broken there costs one step.

    Raises:
        BadInput: there is no recording of that name.
    """
    if require.choice("recording", name, {*LADDER, *families()}) in LADDER:
        ladder = importlib.import_module("tools.gpu.ladder.recording")
        function, rehearsal = LADDER[name]
        return Maker(getattr(ladder, function), rehearsal)
    family = importlib.import_module(f"{recorders.__name__}.{name}")
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

"""Makes one recording in this process and keeps its rows on disk as they come."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulearn import _require
from gpulearn.hardware.rows import Saver
from gpulearn.performance.recordings import Recording, growing, save

__all__ = ["MAKERS", "Maker", "main"]


@dataclass(frozen=True)
class Maker:
    """Who makes a recording: a module's function, and how it is called to rehearse."""

    module: str
    function: str
    rehearsal: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Recording]:
        """The function. Its module is imported now: what is broken there costs one step."""
        found: Callable[..., Recording] = getattr(
            importlib.import_module(self.module), self.function
        )
        return found


SMALL = (16, 64)
MAKERS = {
    "matmul": Maker(
        "gpulearn.performance.record", "record_matmul",
        {"sizes": SMALL, "dtypes": ("float32", "bfloat16"), "on": "cpu"},
    ),
    "ladder": Maker("gpulearn.performance.record", "record_ladder", {"n": 64}),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a recording; return the exit status: 1 where a row has no time but an error."""
    parser = argparse.ArgumentParser(prog="python -m gpulearn.hardware.record")
    parser.add_argument("name")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    maker = MAKERS[_require.choice("recording", given.name, MAKERS)]
    with growing(Saver(given.folder)):
        made = maker.load()(**maker.rehearsal if given.rehearse else {})
    print(f"{len(made.rows)} rows in {save(made, given.folder).name}")
    faults = [row for row in made.rows if "error" in row]
    for row in faults:
        print(f"without a time: {row}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

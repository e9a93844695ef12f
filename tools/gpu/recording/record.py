"""Makes one recording in this process and keeps its rows on disk as they come."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.perf.families.rows import Saver
from gpulearn.perf.recordings import Recording, growing, save

__all__ = ["MAKERS", "Maker", "main"]

FAMILIES = "gpulearn.perf.families"
LADDER = "tools.gpu.ladder.recording"


@dataclass(frozen=True)
class Maker:
    """Who makes a recording: a module's function, and with what to call it in a rehearsal."""

    module: str
    function: str
    rehearsal: Mapping[str, Any] = field(default_factory=dict)

    def make(self, rehearse: bool) -> Recording:
        """Measure. The module is imported now: what is broken there costs one step."""
        function = getattr(importlib.import_module(self.module), self.function)
        made: Recording = function(**self.rehearsal if rehearse else {})
        return made


def _family(name: str, **rehearsal: Any) -> Maker:
    return Maker(f"{FAMILIES}.{name}", f"record_{name}", rehearsal)


MAKERS = {
    "matmul": _family("matmul", sizes=(16, 64), dtypes=("float32", "bfloat16"), on="cpu"),
    "roofline": _family(
        "roofline", n=32, batches=(1, 16), numbers=1024, sizes=(32,), seconds=0.005
    ),
    "strides": _family("strides", n=256, strides=(1, 3, 32), offsets=(0, 1), repeated=100),
    "transposes": _family("transposes", sizes=(32,)),
    "histograms": _family("histograms", n=512, repeated=256),
    "reductions": _family("reductions", n=2**14),
    "training": _family("training", batches=(4,), precisions=("float32", "bfloat16")),
    "ladder": Maker(LADDER, "record_ladder", {"sizes": (16,), "seconds": 0.01}),
    "ladder-ideas": Maker(LADDER, "record_ideas", {"n": 16, "seconds": 0.01}),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a recording; return the exit status: 1 where a row has an error, or there are none."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.recording.record")
    parser.add_argument("name")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    maker = MAKERS[require.choice("recording", given.name, MAKERS)]
    with growing(Saver(given.folder)):
        made = maker.make(given.rehearse)
    save(made, given.folder)
    faults = [row for row in made.rows if "error" in row]
    for row in faults:
        print(f"without a time: {row}")
    print(f"{len(made.rows) - len(faults)} of {len(made.rows)} rows")
    return 1 if faults or not made.rows else 0


if __name__ == "__main__":
    sys.exit(main())

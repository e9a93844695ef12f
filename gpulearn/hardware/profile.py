"""The step that holds the machine's counters against Nsight Compute's: `counters-<device>.json`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gpulearn.hardware.cases import CASES
from gpulearn.hardware.comparison import as_text, verdict
from gpulearn.hardware.counters import record_counters
from gpulearn.hardware.ncu_here import find_ncu
from gpulearn.hardware.step import seconds_left

__all__ = ["main", "stand_in"]

STAND_IN = Path(__file__).parents[2] / "tests" / "hardware" / "stand_in_ncu.py"
EACH = 30  # a rehearsal profiles every so many cases
SECONDS = 100.0  # for the profiler
CLOSING = 35.0  # for the start, and what comes after the profiler: tables and machine code


def stand_in(folder: Path) -> Path | None:
    """A program named ncu that stands in for the profiler: a rehearsal has no other."""
    if find_ncu() is not None or not STAND_IN.exists():
        return None
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "ncu"
    program.write_text(f"#!{sys.executable}\nexec(open({str(STAND_IN)!r}).read())\n")
    program.chmod(0o755)
    return program


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile every case; return the exit status: 0 if the profiler measured any counter."""
    parser = argparse.ArgumentParser(prog="python -m gpulearn.hardware.profile")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    cases = CASES
    if given.rehearse:
        cases = dict(list(CASES.items())[::EACH])
        if program := stand_in(given.folder / "bin"):
            os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
            print("There is no ncu here: a program of the tests stands in for it.")
    made = record_counters(given.folder, cases, seconds_left(SECONDS, CLOSING))
    text = as_text(made)
    print("\n".join([*text.splitlines()[1:], text.splitlines()[0]]))
    measured = {verdict(row) for row in made.rows if "counter" in row}
    return 0 if measured & {"equal", "explained", "unexplained"} else 1


if __name__ == "__main__":
    sys.exit(main())

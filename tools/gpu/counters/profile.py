"""The step that holds the machine's counters against Nsight Compute's: `counters-<device>.json`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.gpu.case import Case
from tools.gpu.cases import CASES
from tools.gpu.counters.comparison import as_text, machine_counts, verdict
from tools.gpu.counters.metrics import COMPARED
from tools.gpu.counters.ncu_here import find_ncu
from tools.gpu.counters.recording import record_counters
from tools.gpu.runner.step import seconds_left

__all__ = ["main", "stand_in"]

STAND_IN = Path(__file__).parents[3] / "tests" / "hardware" / "stand_in_ncu.py"
EACH = 30  # a rehearsal profiles every so many cases
SECONDS = 100.0  # for the profiler
CLOSING = 35.0  # for the start, and what comes after the profiler: tables and machine code


def stand_in(folder: Path, cases: Mapping[str, Case]) -> dict[str, str]:
    """Variables with which a program stands in for the profiler: a rehearsal has no other.

    What it says that the hardware counted is what the machine counts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program, counts = folder / "ncu", folder / "counts.json"
    program.write_text(f"#!{sys.executable}\nexec(open({str(STAND_IN)!r}).read())\n")
    program.chmod(0o755)
    found = {name: machine_counts(case) for name, case in cases.items()}
    metrics = {
        name: {m: counted[c] for c, m in COMPARED.items()} for name, counted in found.items()
    }
    counts.write_text(json.dumps(metrics))
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "STAND_IN_COUNTS": str(counts)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile every case; return the exit status: 0 if the profiler measured any counter."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.counters.profile")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    cases = CASES
    if given.rehearse:
        cases = dict(list(CASES.items())[::EACH])
        if find_ncu() is None and STAND_IN.exists():
            os.environ.update(stand_in(given.folder / "bin", cases))
            print("There is no ncu here: a program of the tests stands in for it.")
    made = record_counters(given.folder, cases, seconds_left(SECONDS, CLOSING))
    text = as_text(made)
    print("\n".join([*text.splitlines()[1:], text.splitlines()[0]]))
    measured = {verdict(row) for row in made.rows if "counter" in row}
    return 0 if measured & {"equal", "explained", "unexplained"} else 1


if __name__ == "__main__":
    sys.exit(main())

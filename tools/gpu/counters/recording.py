"""The step that holds the machine's counters against Nsight Compute's: `counters-<device>.json`.

The goal is equality to the last unit, for every case of the catalogue. A counter that differs
needs a reason that the machine code shows; what has none is listed as unexplained.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpulearn.perf import recordings
from gpulearn.perf.recordings import Recording
from tools.gpu.case import Case
from tools.gpu.cases import CASES
from tools.gpu.counters import ncu
from tools.gpu.counters.comparison import as_text, compare, machine_counts, verdict
from tools.gpu.counters.disassembly import listing
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.metrics import COMPARED
from tools.gpu.counters.ncu import find_ncu
from tools.gpu.runner.step import seconds_left

__all__ = ["TABLE", "in_order", "main", "record_counters", "stand_in"]

NAME = "counters"
TABLE = "counters.txt"
OFTEN = 10  # seconds between two writings
SECONDS = 100  # for the profiler; the machine's own counts take place meanwhile

STAND_IN = Path(__file__).parents[3] / "tests" / "tools" / "stand_in_ncu.py"
EACH = 30  # a rehearsal profiles every so many cases
CLOSING = 35.0  # for the start, and what comes after the profiler: tables and machine code


def in_order(cases: Iterable[Case]) -> list[Case]:
    """The cases in the order of what should be known first, should the time not be enough.

    First one of each kernel, then the access patterns, then the rest; those of one kernel stand
    side by side in each part.
    """
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(kernel_of(case), []).append(case)
    first = [group[0] for group in groups.values()]
    others = [case for group in groups.values() for case in group[1:]]
    return first + sorted(others, key=lambda case: case.notebook)  # patterns have no notebook


def record_counters(
    folder: Path, cases: Mapping[str, Case] = CASES, seconds: float = SECONDS
) -> Recording:
    """Profile every case, count it on the machine, and write both side by side.

    The recording is written each time that more is known, so that a limit on the whole costs
    only what had not been measured by then. Beside it stand what the profiler printed, and the
    table as text with the machine code of the kernels in which a counter differs.

    Args:
        folder: where the recording and the profiler's own tables go.
        cases: by name.
        seconds: for the profiler.
    """
    began = time.monotonic()
    wanted = in_order(case for case in cases.values() if case.runs_on_gpu)
    measured = ncu.Profile()
    done, counted = threading.Event(), threading.Event()

    def differ(cases: Mapping[str, ncu.Metrics]) -> list[str]:
        counted.wait(30)
        return [
            name
            for name, counts in list(machine.items())
            if any(cases.get(name, {}).get(m) not in (None, counts[c]) for c, m in COMPARED.items())
        ]

    def profile() -> None:
        try:
            ncu.profile([case.name for case in wanted], folder, measured, seconds, differ)
        except Exception as error:  # what there is by then is worth having
            measured.notes.append(f"Profiling broke off: {type(error).__name__}: {error}")
        done.set()

    machine: dict[str, dict[str, int]] = {}
    threading.Thread(target=profile, daemon=True).start()
    faults: list[str] = []
    for case in wanted:
        try:
            machine[case.name] = machine_counts(case)
        except Exception as error:
            faults.append(f"{case.name}, on the machine: {type(error).__name__}: {error}")
    counted.set()
    limit = began + seconds + 30
    while True:  # what is known is in the file, should the profiler outlast whoever waits here
        made = _write(folder, wanted, machine, measured, faults)
        if done.wait(min(OFTEN, max(limit - time.monotonic(), 0))) or time.monotonic() > limit:
            break
    made = _write(folder, wanted, machine, measured, faults)
    text = as_text(made) + "\n"
    (folder / TABLE).write_text(text, encoding="utf-8")
    for code in _machine_code(made, cases, began + seconds + 30):
        text += f"\n{code}\n"
        (folder / TABLE).write_text(text, encoding="utf-8")
    return made


def _machine_code(recording: Recording, cases: Mapping[str, Case], ends: float) -> Iterator[str]:
    """The accesses of the kernels that have a counter that differs, a text each."""
    differ = [r for r in recording.rows if verdict(r) in ("explained", "unexplained")]
    for name in {row["kernel"]: row["case"] for row in differ}.values():
        if time.monotonic() > ends:
            return
        try:
            yield f"{name}: {listing(cases[name])}"
        except Exception as error:  # it may be that nothing here compiles or disassembles
            yield f"{name}: no machine code ({type(error).__name__}: {error})"


def _write(
    folder: Path,
    cases: Sequence[Case],
    machine: Mapping[str, dict[str, int]],
    measured: ncu.Profile,
    faults: Sequence[str],
) -> Recording:
    rows = [
        row
        for case in cases
        for row in compare(case, machine.get(case.name), measured.cases.get(case.name))
    ]
    rows += [{"note": note} for note in (*measured.notes, *faults)]
    recording = recordings.recorded_here(NAME, rows)
    if measured.version:
        recording.versions["ncu"] = measured.version
    recordings.save(recording, folder)
    return recording


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
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.counters.recording")
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

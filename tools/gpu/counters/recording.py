"""The SIMT machine's counters beside Nsight Compute's, for every case of the catalogue.

The goal is equality to the last unit. A counter that differs needs a reason that the machine
code shows; what has none is listed as unexplained.
"""

from __future__ import annotations

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
from tools.gpu.counters.compiled import listing
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.metrics import COMPARED

__all__ = ["TABLE", "in_order", "record_counters"]

NAME = "counters"
TABLE = "counters.txt"
OFTEN = 10  # seconds between two writings
SECONDS = 100  # for the profiler; the machine's own counts take place meanwhile


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

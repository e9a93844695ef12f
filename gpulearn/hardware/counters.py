"""The SIMT machine's counters beside Nsight Compute's, for every case of the catalogue.

The goal is equality to the last unit. A counter that differs needs a reason that the machine
code shows; what has none is listed as unexplained.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpulearn.hardware import ncu
from gpulearn.hardware.case import Case
from gpulearn.hardware.cases import CASES
from gpulearn.hardware.counter_reasons import EXPLAINED, reason
from gpulearn.hardware.metrics import BESIDE, COMPARED, EVIDENCE, EXCESS, total
from gpulearn.performance import recordings
from gpulearn.performance.recordings import Recording
from gpulearn.simt.names import python_function

__all__ = [
    "as_text",
    "compare",
    "disagreements",
    "in_order",
    "machine_counts",
    "record_counters",
    "verdict",
]

NAME = "counters"
SECONDS = 100  # for the profiler; the machine's own counts take place meanwhile
Row = dict[str, Any]


def in_order(cases: Iterable[Case]) -> list[Case]:
    """The cases with those of one kernel side by side, and the access patterns first."""
    groups: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.notebook):
        groups.setdefault(_kernel(case), []).append(case)
    return [case for group in groups.values() for case in group]


def _kernel(case: Case) -> str:
    return str(getattr(python_function(case.kernel) or case.kernel, "__name__", case.name))


def machine_counts(case: Case) -> dict[str, int]:
    """What the SIMT machine counts for the small size of a case, by counter."""
    from gpulearn.simt import lookalike, xray

    shot = case.shot("small")
    arguments = [lookalike.to_device(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    report = xray.xray(case.kernel)[shot.grid, shot.block](*arguments)
    return report.totals.as_dict()


def compare(
    case: Case, machine: Mapping[str, int] | None, measured: Mapping[str, float | None] | None
) -> list[Row]:
    """A row for each counter of a case.

    Args:
        case: what was launched.
        machine: the machine's counters, or None where it failed.
        measured: Nsight Compute's metrics, or None where the case was not profiled.
    """
    machine, measured = machine or {}, measured or {}
    kernel = _kernel(case)

    def row(counter: str, metric: str, theirs: float | None, ours: int | None) -> Row:
        known = theirs if theirs is None or theirs % 1 else int(theirs)
        return {
            "case": case.name, "kernel": kernel, "notebook": case.notebook, "counter": counter,
            "machine": ours, "ncu": known, "metric": metric, "reason": "",
        }  # fmt: skip

    rows = [row(c, m, measured.get(m), machine.get(c)) for c, m in COMPARED.items()]
    differ = False
    for line in rows:
        if verdict(line) == "unexplained":
            differ = True
            line["reason"] = reason(case.name, kernel, line["counter"], machine, measured)
    for counter, parts in BESIDE.items():
        theirs = total(measured, parts)
        if theirs is not None:
            rows.append(row(counter, " + ".join(parts), theirs, machine.get(counter)))
    excess = total(measured, {EXCESS[0]: 1, EXCESS[1]: -1})
    if excess is not None:
        ours = [machine.get(f"shared_{kind}_conflicts") for kind in ("load", "store")]
        both = None if None in ours else sum(n for n in ours if n is not None)
        rows.append(row("shared_conflicts", " - ".join(EXCESS), excess, both))
    if differ:
        found = ((name, measured.get(name)) for name in EVIDENCE)
        rows += [row("evidence", name, value, None) for name, value in found if value]
    return rows


def verdict(row: Row) -> str:
    """What a row says: equal, explained, unexplained, not measured, or beside.

    >>> verdict({"counter": "global_load_sectors", "machine": 4, "ncu": 5, "reason": ""})
    'unexplained'
    """
    if row["counter"] not in COMPARED:
        return "beside"
    if row["machine"] is None or row["ncu"] is None:
        return "not measured"
    if row["machine"] == row["ncu"]:
        return "equal"
    return "explained" if row["reason"] else "unexplained"


def record_counters(
    folder: Path, cases: Mapping[str, Case] = CASES, seconds: float = SECONDS
) -> Recording:
    """Profile every case, count it on the machine, and write both side by side.

    The recording is written each time that more is known, so that a limit on the whole costs
    only what had not been measured by then. What the profiler printed stands beside it.

    Args:
        folder: where the recording and the profiler's own tables go.
        cases: by name.
        seconds: for the profiler.
    """
    wanted = in_order(cases.values())
    measured = ncu.Profile()
    done = threading.Event()

    def profile() -> None:
        nonlocal measured
        try:
            measured = ncu.profile([case.name for case in wanted], folder, seconds)
        except Exception as error:  # the machine's counts are worth having without it
            measured = ncu.Profile(notes=[f"Profiling broke off: {type(error).__name__}: {error}"])
        done.set()

    threading.Thread(target=profile, daemon=True).start()
    machine: dict[str, dict[str, int]] = {}
    faults: list[str] = []
    seen = False  # whether the profiler's numbers are in the file already
    for case in wanted:
        try:
            machine[case.name] = machine_counts(case)
        except Exception as error:
            faults.append(f"{case.name}, on the machine: {type(error).__name__}: {error}")
        if done.is_set() and not seen:
            seen = True
            _write(folder, wanted, machine, measured, faults)
    done.wait(seconds + 30)
    return _write(folder, wanted, machine, measured, faults)


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


def disagreements(recording: Recording, cases: Mapping[str, Case] = CASES) -> list[str]:
    """Where the machine of today differs from what was recorded, a sentence each.

    Rows whose difference is explained, in the recording or in `EXPLAINED`, are left out.
    """
    rows = [r for r in recording.rows if r.get("counter") in COMPARED and r["ncu"] is not None]
    counts: dict[str, dict[str, int]] = {}
    found = []
    for row in rows:
        name, counter = row["case"], row["counter"]
        if name not in cases:
            found.append(f"{name}: the catalogue no longer has this case.")
            continue
        if name not in counts:
            counts[name] = machine_counts(cases[name])
        explained = any((key, counter) in EXPLAINED for key in (name, row["kernel"]))
        if counts[name][counter] != row["ncu"] and not (row["reason"] or explained):
            found.append(
                f"{name}: {counter} is {counts[name][counter]:,} on the machine and "
                f"{row['ncu']:,} on {recording.device}."
            )
    return list(dict.fromkeys(found))


def as_text(recording: Recording) -> str:
    """The comparison as a table: a summary, and a line for each counter that differs."""
    rows = [row for row in recording.rows if "counter" in row]
    verdicts = Counter(verdict(row) for row in rows)
    held = {r["kernel"] for r in rows if verdict(r) in ("equal", "explained", "unexplained")}
    asked = sum(verdicts[word] for word in ("equal", "explained", "unexplained"))
    lines = [
        f"{verdicts['equal']:,} of {asked:,} counters of {len(held)} kernels are equal to the last "
        f"unit; {verdicts['explained']:,} of the others are explained, "
        f"{verdicts['unexplained']:,} are not; {verdicts['not measured']:,} were not measured."
    ]
    wide = max((len(row["case"]) for row in rows), default=0)
    lines.append(f"{'case':{wide}}  {'counter':24}  {'machine':>10}  {'ncu':>10}  verdict")
    for row in rows:
        word = verdict(row)
        if word in ("explained", "unexplained"):
            lines.append(
                f"{row['case']:{wide}}  {row['counter']:24}  {row['machine']:>10,}  "
                f"{row['ncu']:>10,}  {word}{': ' * bool(row['reason'])}{row['reason']}"
            )
    all_equal = Counter(row["case"] for row in rows if verdict(row) == "equal")
    equal = [name for name, count in all_equal.items() if count == len(COMPARED)]
    if equal:
        lines.append(f"All {len(COMPARED)} counters are equal in: {'; '.join(equal)}.")
    lines += [f"note: {row['note']}" for row in recording.rows if "note" in row]
    return "\n".join(lines)

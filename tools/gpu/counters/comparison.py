"""One case's counters: the SIMT machine's beside Nsight Compute's, and what a difference means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulearn.perf.recordings import Recording
from tools.gpu.case import Case
from tools.gpu.cases import CASES
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.metrics import BESIDE, COMPARED, EVIDENCE, EXCESS, total
from tools.gpu.counters.reasons import reason

__all__ = ["as_text", "compare", "disagreements", "machine_counts", "verdict"]

Row = dict[str, Any]


def machine_counts(case: Case) -> dict[str, int]:
    """What the SIMT machine counts for the small size of a case, by counter."""
    from simt.host import api, xray

    shot = case.shot("small")
    arguments = [api.to_device(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    report = xray.xray(case.kernel)[shot.grid, shot.block](*arguments)
    return report.totals.as_dict()


def compare(
    case: Case, machine: Mapping[str, int] | None, measured: Mapping[str, float | None] | None
) -> list[Row]:
    """A row for each counter of a case, but for those that are 0 on both sides.

    Args:
        case: what was launched.
        machine: the machine's counters, or None where it failed.
        measured: Nsight Compute's metrics, or None where the case was not profiled.
    """
    machine, measured = machine or {}, measured or {}
    kernel = kernel_of(case)

    def row(counter: str, metric: str, theirs: float | None, ours: int | None) -> Row:
        known = theirs if theirs is None or theirs % 1 else int(theirs)
        return {
            "case": case.name, "kernel": kernel, "notebook": case.notebook, "counter": counter,
            "machine": ours, "ncu": known, "metric": metric, "reason": "",
        }  # fmt: skip

    rows = [row(c, m, measured.get(m), machine.get(c)) for c, m in COMPARED.items()]
    for counter, parts in BESIDE.items():
        theirs = total(measured, parts)
        if theirs is not None:
            rows.append(row(counter, " + ".join(parts), theirs, machine.get(counter)))
    excess = total(measured, {EXCESS[0]: 1, EXCESS[1]: -1})
    if excess is not None:
        ours = [machine.get(f"shared_{kind}_conflicts") for kind in ("load", "store")]
        both = None if None in ours else sum(n for n in ours if n is not None)
        rows.append(row("shared_conflicts", " - ".join(EXCESS), excess, both))
    rows = [line for line in rows if line["machine"] != 0 or line["ncu"] != 0]
    for line in rows:
        if line["counter"] in machine and line["ncu"] not in (None, line["machine"]):
            line["reason"] = reason(kernel, line["counter"], machine, line["ncu"], measured)
    if any(verdict(line) in ("explained", "unexplained") for line in rows):
        found = ((name, measured.get(name)) for name in EVIDENCE)
        rows += [row("evidence", name, value, None) for name, value in found if value]
    return rows


def verdict(row: Row) -> str:
    """What a row says: equal, explained, unexplained, not measured, or beside.

    >>> verdict({"counter": "global_load_sectors", "machine": 4, "ncu": 5, "reason": ""})
    'unexplained'
    """
    if row.get("counter") not in COMPARED:
        return "beside"
    if row["machine"] is None or row["ncu"] is None:
        return "not measured"
    if row["machine"] == row["ncu"]:
        return "equal"
    return "explained" if row["reason"] else "unexplained"


def disagreements(recording: Recording, cases: Mapping[str, Case] = CASES) -> list[str]:
    """Where the machine of today differs from what was recorded, a sentence each.

    What is explained, in the recording or by now, is left out.
    """
    rows = [row for row in recording.rows if row.get("counter") in COMPARED]
    found = []
    for name in dict.fromkeys(row["case"] for row in rows):
        if name not in cases:
            found.append(f"{name}: the catalogue no longer has this case.")
            continue
        counts = machine_counts(cases[name])
        recorded = {row["counter"]: row for row in rows if row["case"] == name}
        for counter in COMPARED:
            row = recorded.get(counter, {"ncu": 0, "reason": ""})  # left out: 0 on both sides
            if row["ncu"] in (None, counts[counter]):
                continue
            known = row["reason"] or reason(
                kernel_of(cases[name]), counter, counts, row["ncu"], measured={}
            )
            if not known:
                found.append(
                    f"{name}: {counter} is {counts[counter]:,} on the machine and "
                    f"{row['ncu']:,} on {recording.device}."
                )
    return found


def as_text(recording: Recording) -> str:
    """The comparison as a table: a summary, and a line for each counter that differs."""
    rows = [row for row in recording.rows if "counter" in row]
    verdicts = Counter(verdict(row) for row in rows)
    held = {r["kernel"] for r in rows if verdict(r) in ("equal", "explained", "unexplained")}
    asked = sum(verdicts[word] for word in ("equal", "explained", "unexplained"))
    lines = [
        f"{verdicts['equal']:,} of {asked:,} counters of {len(held)} kernels are equal to the last "
        f"unit; {verdicts['explained']:,} of the others are explained, "
        f"{verdicts['unexplained']:,} are not; {verdicts['not measured']:,} were not measured.",
        "Counters that are 0 on both sides are not among them.",
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
    differ = {row["case"] for row in rows if verdict(row) not in ("equal", "beside")}
    equal = [name for name in dict.fromkeys(row["case"] for row in rows) if name not in differ]
    if equal:
        lines.append(f"All counters are equal in: {'; '.join(equal)}.")
    lines += [f"note: {row['note']}" for row in recording.rows if "note" in row]
    return "\n".join(lines)

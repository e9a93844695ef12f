"""The machine's counters beside Nsight Compute's, by way of a program that stands in for it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpulearn import cuda
from gpulearn.perf import recordings
from gpulearn.perf.recordings import Recording
from tools.gpu.cases import CASES
from tools.gpu.counters import ncu
from tools.gpu.counters import reasons as counter_reasons
from tools.gpu.counters import recording as counters
from tools.gpu.counters.comparison import (
    as_text,
    compare,
    disagreements,
    machine_counts,
    verdict,
)
from tools.gpu.counters.matching import kernel_of
from tools.gpu.counters.metrics import COMPARED, EXCESS, GROUPS, base
from tools.gpu.counters.profiled import launch_all
from tools.gpu.counters.recording import TABLE, in_order, record_counters

NAMES = (
    "read_at, offset 1, 4 bytes",
    "read_at, random, 8 bytes",
    "shared_read, strided by 32, 4 bytes",
    "shared_read, strided by 2, 8 bytes",
    "shared_write, strided by 2, 4 bytes",
    "tile_read, columns",
)
FEW = {name: CASES[name] for name in NAMES}
KNOWN = ncu.known  # where a test lets the profiler be asked
ONE = {NAMES[0]: CASES[NAMES[0]]}
LOAD_SECTORS = COMPARED["global_load_sectors"]
LOAD_CONFLICTS = COMPARED["shared_load_conflicts"]


COUNTS = {name: machine_counts(case) for name, case in FEW.items()}


def nonzero(*names: str) -> int:
    """How many counters of these cases are not 0, which are those that are compared."""
    return sum(bool(COUNTS[name][counter]) for name in names for counter in COMPARED)


def as_metrics(counts: dict[str, int]) -> dict[str, int]:
    """The machine's counters by the names of Nsight Compute."""
    passes = counts["shared_load_wavefronts"] + counts["shared_store_wavefronts"]
    conflicts = counts["shared_load_conflicts"] + counts["shared_store_conflicts"]
    metrics = {metric: counts[counter] for counter, metric in COMPARED.items()}
    return metrics | {EXCESS[0]: passes, EXCESS[1]: passes - conflicts}


@pytest.fixture
def profiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts the stand-in on the path; call it with what it shall do."""
    program = tmp_path / "bin" / "ncu"
    program.parent.mkdir()
    stand_in = Path(__file__).with_name("stand_in_ncu.py")
    program.write_text(f"#!{sys.executable}\nexec(open({str(stand_in)!r}).read())\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(ncu.__file__).parents[4]))

    counts = {name: as_metrics(counts) for name, counts in COUNTS.items()}
    (tmp_path / "counts.json").write_text(json.dumps(counts))
    monkeypatch.setenv("STAND_IN_COUNTS", str(tmp_path / "counts.json"))

    def wish(**wanted: Any) -> None:
        monkeypatch.setenv("STAND_IN", json.dumps(wanted))

    wish()
    monkeypatch.setattr(ncu, "known", lambda program: {base(n) for g in GROUPS for n in g})
    return wish


@pytest.fixture
def asks(monkeypatch: pytest.MonkeyPatch, profiler: Any) -> None:
    """Ask the program which metrics it has, which takes a process or more."""
    monkeypatch.setattr(ncu, "known", KNOWN)


def verdicts(recording: Recording) -> Counter[str]:
    return Counter(verdict(row) for row in recording.rows if "counter" in row)


def notes(recording: Recording) -> str:
    return "\n".join(row["note"] for row in recording.rows if "note" in row)


@pytest.mark.usefixtures("asks")
def test_every_counter_is_held_against_its_metric(profiler: Any, tmp_path: Path) -> None:
    made = record_counters(tmp_path, FEW, 60)
    assert verdicts(made)["equal"] == nonzero(*FEW), as_text(made)
    assert verdicts(made).keys() == {"equal"}
    assert not notes(made)
    assert made.versions["ncu"] == "2025.3.1.0"
    (path,) = recordings.available(tmp_path, "counters")
    assert recordings.load(path) == made
    assert "never" not in (tmp_path / ncu.RAW).read_text()
    assert '"Kernel Name"' in (tmp_path / ncu.RAW).read_text()
    assert sys.executable not in (tmp_path / ncu.RAW).read_text()
    assert as_text(made).startswith(f"{nonzero(*FEW)} of {nonzero(*FEW)} counters of 4 kernels")


@pytest.mark.usefixtures("asks")
def test_a_number_off_by_one_is_unexplained_and_a_metric_not_listed_costs_its_column(
    profiler: Any, tmp_path: Path
) -> None:
    unlisted = COMPARED["global_store_sectors"]
    off = {LOAD_SECTORS: 1, "launch__registers_per_thread": 12}
    profiler(off=off, unlisted=[base(unlisted)], layout="details")
    made = record_counters(tmp_path, ONE, 60)
    found = verdicts(made)
    assert (found["unexplained"], found["not measured"]) == (1, 1)
    assert found["equal"] == nonzero(*ONE) - 2
    assert unlisted in notes(made)
    told = (tmp_path / TABLE).read_text()
    assert told.startswith(as_text(made))
    assert re.search(r"global_load_sectors +288 +289  unexplained", told)
    assert f"{NAMES[0]}: " in told.removeprefix(as_text(made))  # its machine code, or why not
    (evidence,) = (r for r in made.rows if r.get("metric") == "launch__registers_per_thread")
    assert (evidence["ncu"], evidence["machine"]) == (12, None)


def test_waiting_passes_are_explained_by_the_instructions_own() -> None:
    case = CASES["tile_read, columns"]
    counts = machine_counts(case)

    def said(conflicts: int, passes: int = 1056, atomics: int = 0) -> str:
        measured = {
            LOAD_CONFLICTS: float(conflicts), EXCESS[0]: float(passes), EXCESS[1]: 64.0,
            "smsp__inst_executed_op_shared_atom.sum": float(atomics),
        }  # fmt: skip
        rows = compare(case, counts, measured)
        return str(next(row["reason"] for row in rows if row["metric"] == LOAD_CONFLICTS))

    assert "992" in said(1000)
    assert not said(984)
    assert not said(1000, passes=1064)  # the instructions' own passes are as many
    assert not said(1000, atomics=1)


@pytest.mark.usefixtures("asks")
def test_metrics_that_end_the_profiling_are_left_out(profiler: Any, tmp_path: Path) -> None:
    refused = [LOAD_SECTORS.removesuffix(".sum"), "smsp__inst_executed"]
    profiler(refused=refused, fault="silent")
    made = record_counters(tmp_path, ONE, 60)
    assert verdicts(made)["equal"] == nonzero(*ONE) - 1
    assert "Failed to find metric" in notes(made)


def test_without_a_profiler_the_machine_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ncu, "PLACES", ())
    made = record_counters(tmp_path, FEW, 5)
    assert verdicts(made) == {"not measured": len(FEW) * len(COMPARED)}
    assert all(row["machine"] is not None for row in made.rows if "counter" in row)
    assert "ncu" in notes(made)


def test_without_permission_one_trial_is_enough(profiler: Any, tmp_path: Path) -> None:
    profiler(fault="permission")
    made = record_counters(tmp_path, FEW, 60)
    assert verdicts(made) == {"not measured": len(FEW) * len(COMPARED)}
    assert "ERR_NVGPUCTRPERM" in notes(made)
    assert (tmp_path / ncu.RAW).read_text().count("$ ") == 1


def test_a_crash_costs_the_case_that_crashed(profiler: Any, tmp_path: Path) -> None:
    profiler(fault="crash")
    made = record_counters(tmp_path, FEW, 60)
    order = [case.name for case in in_order(FEW.values())]
    others = [name for name in order if name not in (order[0], order[3])]  # those two are tried
    lost = {row["case"] for row in made.rows if verdict(row) == "not measured"}
    assert lost == {others[2]}, as_text(made)
    assert verdicts(made)["equal"] == nonzero(*FEW) - nonzero(others[2])
    assert "139: Segmentation fault" in notes(made)


def test_a_profiler_that_hangs_is_ended(
    profiler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ncu, "LEAST", 0.5)
    monkeypatch.setattr(counters, "OFTEN", 0.3)
    saved = []
    monkeypatch.setattr(recordings, "save", lambda made, folder: saved.append(made))
    profiler(fault="hang")
    made = record_counters(tmp_path, FEW, 2)
    assert len(saved) > 3  # what was known was written while it hung
    assert verdicts(made) == {"not measured": len(FEW) * len(COMPARED)}
    assert "did not end" in notes(made)


def test_the_program_stops_in_time_and_goes_on_after_a_fault() -> None:
    entries: list[dict[str, Any]] = []
    launch_all(["no such case", NAMES[0]], entries.append, 60)
    assert [next(iter(e)) for e in entries] == ["process", "failed", "launch", "done", "end"]
    entries.clear()
    launch_all(NAMES, entries.append, -1)
    assert entries[-1]["stopped"] == NAMES[0]


class CudaAPIError(Exception):
    """As numba.cuda calls it."""


def test_the_program_ends_where_no_further_launch_can_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise CudaAPIError("[700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(cuda, "synchronize", fail)
    entries: list[dict[str, Any]] = []
    launch_all(NAMES, entries.append, 60)
    assert [next(iter(e)) for e in entries] == ["process", "launch", "failed"]
    assert "700" in entries[-1]["why"]


def test_one_of_each_kernel_comes_first_and_then_the_patterns() -> None:
    order = in_order(CASES.values())
    assert sorted(case.name for case in order) == sorted(CASES)
    kernels = [kernel_of(case) for case in order]
    count = len(set(kernels))
    assert len(set(kernels[:count])) == count
    assert sum(a != b for a, b in pairwise(kernels)) < 2 * count
    books = [case.notebook for case in order[count:]]
    assert books == sorted(books)
    assert books[0] == ""


def recorded(**ncu_says: int) -> Recording:
    """A recording of one case with the machine's own numbers, but for those given."""
    case = CASES["tile_read, columns"]
    counts = machine_counts(case)
    measured = {COMPARED[c]: float(ncu_says.get(c, counts[c])) for c in COMPARED}
    return recordings.recorded_here("counters", compare(case, counts, measured))


def test_a_recorded_value_off_by_one_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert disagreements(recorded()) == []
    off = recorded(shared_load_conflicts=991)
    assert disagreements(off) == [
        f"tile_read, columns: shared_load_conflicts is 992 on the machine and 991 on {off.device}."
    ]
    fewer = counter_reasons.Difference("tile_read", ("shared_load_conflicts",), False, "because")
    monkeypatch.setattr(counter_reasons, "BY_PTX", (fewer,))
    assert disagreements(off) == []
    assert len(disagreements(recorded(shared_load_conflicts=993))) == 1  # it explains fewer
    gone = replace(off, rows=[row | {"case": "gone"} for row in off.rows])
    assert disagreements(gone) == ["gone: the catalogue no longer has this case."]


def test_the_machine_counts_what_was_recorded() -> None:
    for path in recordings.available(name="counters"):
        assert disagreements(recordings.load(path)) == []

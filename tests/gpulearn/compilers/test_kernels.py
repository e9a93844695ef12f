"""Every kernel of the package as Numba's compiler makes it, carried out on the CPU.

Its results are NumPy's, and what it costs is what the SIMT machine counts, save where
`explained` says why not.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import gpulearn as gl
from gpulearn_lessons.matmul.matmul_pairs import matmul_vectorised
from simt.report.report import Report
from tests.simt.ptx.run import COUNTERS, Run, compiled, run
from tools.gpu.case import Case
from tools.gpu.cases import CASES

from .explained import EXPLAINED, explained
from .recount import recount

pytestmark = pytest.mark.usefixtures("_linker")

NAMES = [name for name, case in CASES.items() if case.runs_on_gpu]


@functools.cache
def both(name: str) -> tuple[Case, Any, Run, Report, tuple[Any, ...]]:
    """A small launch as PTX and on the SIMT machine, with what each left in the arguments."""
    case = CASES[name]
    shot = case.shot("small")
    ptx = compiled(case.kernel, shot.args)
    ran = run(ptx, shot.grid, shot.block, shot.args)
    there = shot.on_device()
    report = gl.xray(case.kernel)[shot.grid, shot.block](*there)
    return case, shot, ran, report, there


def differences(name: str) -> dict[str, tuple[int, int]]:
    """The counters that differ: on the SIMT machine, in the PTX."""
    _, _, ran, report, _ = both(name)
    pairs = {c: (getattr(report.totals, c), getattr(ran.totals, c)) for c in COUNTERS}
    return {c: pair for c, pair in pairs.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("name", NAMES)
def test_the_compilers_code_computes_and_costs_what_numpy_and_the_machine_say(name: str) -> None:
    # one test for all of it: a second one, in another process, would compile the kernel again
    case, shot, ran, report, there = both(name)
    case.check(shot, ran.results)
    errors = [
        {f.kind for f in found if f.severity == "error"}
        for found in (ran.findings, report.findings)
    ]
    assert errors[0] == errors[1]
    if not case.finding:
        for place, given in enumerate(shot.args):
            if isinstance(given, np.ndarray):
                same_as_the_machine(case, place, ran.results[place], there[place])
    known = explained()
    for counter, (machine, ptx) in differences(name).items():
        key = (case.kernel.__name__, counter)
        assert key in known, f"{counter}: {machine:,} counted, {ptx:,} in the PTX"
        assert (ptx > machine) == known[key].more, (counter, machine, ptx)
    recount(ran)


def same_as_the_machine(case: Case, place: int, got: np.ndarray, there: Any) -> None:
    wanted = there.copy_to_host()
    if case.kernel is matmul_vectorised:  # words of two numbers: hold the numbers side by side
        wanted = wanted.view(np.float32)
    case.compare(place, got, wanted, "the SIMT machine has")


def test_a_missing_barrier_is_a_race_and_tears_the_result() -> None:
    _, shot, torn, _, _ = both("transpose_by_tile, whole")
    assert "race" in {f.kind for f in torn.findings}
    assert not np.array_equal(torn.results[1], shot.args[0].T)


@pytest.mark.parametrize("difference", EXPLAINED, ids=lambda d: f"{d.kernel}-{d.counters[0]}")
def test_each_explained_difference_exists_and_the_ptx_shows_its_reason(difference: Any) -> None:
    names = [name for name in NAMES if name.partition(",")[0] == difference.kernel]
    seen = {counter for name in names for counter in differences(name)}
    assert set(difference.counters) <= seen
    for name in names:
        code = [i.name for i in both(name)[2].instructions]
        found = {start: sum(op.startswith(start) for op in code) for start in difference.shows}
        assert found == difference.shows

"""Every kernel of the package as Numba's compiler makes it, carried out on the CPU.

Its results are NumPy's, and what it costs is what the SIMT machine counts, save where
`tools.record.differences` says why not.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

import gpulearn as gl
from tests.simt.ptx.run import COUNTERS, Run, compiled, run
from tools.record.differences import BY_PTX
from tools.record.launches import Example, examples

pytestmark = pytest.mark.usefixtures("_linker")

KERNELS = list(dict.fromkeys(example.kernel.__name__ for example in examples().values()))
EXPLAINED = {(d.kernel, counter): d for d in BY_PTX for counter in d.counters}


def launches(kernel: str) -> list[Example]:
    return [e for e in examples().values() if e.kernel.__name__ == kernel]


def as_ptx(example: Example) -> Run:
    given = tuple(example.launch.arguments())
    return run(compiled(example.kernel, given), *example.shape, given)


@functools.cache
def differences(kernel: str) -> dict[str, list[tuple[int, int]]]:
    """Counters that differ in a launch: on the SIMT machine, in the PTX. Results are NumPy's."""
    seen: dict[str, list[tuple[int, int]]] = {}
    for example in launches(kernel):
        ran, there = as_ptx(example), example.arguments()
        report = gl.xray(example.kernel)[example.shape](*there)
        assert report.findings == ran.findings == [], example.name
        example.check(ran.results)
        example.check(there)
        for counter in COUNTERS:
            pair = getattr(report.totals, counter), getattr(ran.totals, counter)
            if pair[0] != pair[1]:
                seen.setdefault(counter, []).append(pair)
    return seen


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_compilers_code_computes_and_costs_what_numpy_and_the_machine_say(kernel: str) -> None:
    for counter, pairs in differences(kernel).items():
        assert (kernel, counter) in EXPLAINED, f"{counter}: {pairs}"
        more = EXPLAINED[kernel, counter].more
        assert all((ptx > machine) == more for machine, ptx in pairs), (counter, pairs)


@pytest.mark.parametrize("difference", BY_PTX, ids=lambda d: f"{d.kernel}-{d.counters[0]}")
def test_each_explained_difference_exists_and_the_ptx_shows_its_reason(difference: Any) -> None:
    assert set(difference.counters) <= set(differences(difference.kernel))
    code = [i.name for i in as_ptx(launches(difference.kernel)[0]).instructions]
    shown = {start: sum(op.startswith(start) for op in code) for start in difference.shows}
    assert shown == difference.shows

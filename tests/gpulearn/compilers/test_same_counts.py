"""A kernel costs the same in C++ and in Numba where both touch memory in the same way."""

from __future__ import annotations

import functools
from dataclasses import fields

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from simt.cpp import CppModule, cpp
from simt.observers.counters import Counts
from tools.gpu.cases import CASES

from .twins import DIFFERENCES, LAUNCHES, SOURCE

pytestmark = pytest.mark.usefixtures("_nvrtc")

ELSEWHERE = {"instructions", "active_lanes", "divergent_branches"}  # of statements, not of memory
ACCESSES = [f.name for f in fields(Counts) if f.name not in ELSEWHERE]


@functools.cache
def twins() -> CppModule:
    return cpp(SOURCE)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_kernel_of_the_package_and_its_twin_compute_and_cost_the_same(launch: str) -> None:
    case = CASES[launch]
    shot = case.shot("small")
    name = case.kernel.__name__
    machine = gl.xray(case.kernel)[shot.grid, shot.block](*shot.on_device())
    lengths = [n for a in shot.args if isinstance(a, np.ndarray) for n in a.shape]
    given = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    twin = twins()[name]
    compiled = gl.xray(twin)[shot.grid, shot.block](*given, *lengths)
    assert [str(f) for f in machine.findings + compiled.findings] == []
    case.check(shot, [a.copy_to_host() if hasattr(a, "copy_to_host") else a for a in given])
    pairs = {c: (getattr(machine.totals, c), getattr(compiled.totals, c)) for c in ACCESSES}
    found = {counter: pair for counter, pair in pairs.items() if pair[0] != pair[1]}
    known = {c: d for d in DIFFERENCES if d.kernel == name for c in d.counters}
    assert set(found) == set(known)
    code = [i.name for i in twin.program.function.instructions]
    for counter, (here, there) in found.items():
        assert (there > here) == known[counter].more
        shown = {start: sum(op.startswith(start) for op in code) for start in known[counter].shows}
        assert shown == known[counter].shows

"""A kernel costs the same in C++ and in Numba where both touch memory in the same way."""

from __future__ import annotations

import functools
import re
from dataclasses import fields

import numpy as np
import pytest

import gpulearn as gl
from simt.cpp import CppModule, cpp
from simt.observers.counters import Counts
from tools.record.launches import examples

from .twins import DIFFERENCES, SOURCE

pytestmark = pytest.mark.usefixtures("_nvrtc")

ELSEWHERE = {"instructions", "active_lanes", "divergent_branches"}  # of statements, not of memory
ACCESSES = [f.name for f in fields(Counts) if f.name not in ELSEWHERE]


@functools.cache
def twins() -> CppModule:
    return cpp(SOURCE)


@pytest.mark.parametrize("name", re.findall(r"__global__ void (\w+)", SOURCE))
def test_a_kernel_of_the_package_and_its_twin_compute_and_cost_the_same(name: str) -> None:
    twin = twins()[name]
    known = {c: d for d in DIFFERENCES if d.kernel == name for c in d.counters}
    seen = set()
    for example in (e for e in examples().values() if e.kernel.__name__ == name):
        lengths = [n for a in example.launch.args if isinstance(a, np.ndarray) for n in a.shape]
        given = example.arguments()
        machine = gl.xray(example.kernel)[example.shape](*example.arguments())
        compiled = gl.xray(twin)[example.shape](*given, *lengths)
        assert [str(f) for f in machine.findings + compiled.findings] == []
        example.check(given)
        for counter in ACCESSES:
            here, there = getattr(machine.totals, counter), getattr(compiled.totals, counter)
            if here != there:
                assert (there > here) == known[counter].more, (counter, here, there)
                seen.add(counter)
    assert seen == set(known)
    code = [i.name for i in twin.program.function.instructions]
    for difference in known.values():
        shown = {start: sum(op.startswith(start) for op in code) for start in difference.shows}
        assert shown == difference.shows

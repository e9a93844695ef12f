"""The steps of one block: they tell the same story as the counters."""

import copy
import pickle

import numpy as np
import pytest

import simt
from simt import cuda

from . import right
from .cases import Case
from .harness import line, to_device, xray

ONE_BLOCK = [
    case
    for case in right.CASES
    if np.prod(case.grid) == 1 and not case.name.startswith(("recursion", "barrier_in_a_dev"))
]


def half(a, out):
    t = cuda.threadIdx.x
    if t < 8:
        out[t] = a[2 * t]  # few
    else:
        out[t] = a[0]  # many


def steps_on(report, number):
    return [step for step in report.step() if step.line == number]


def test_active_lanes_and_addresses_of_both_branches() -> None:
    report = xray(half, 1, 40, np.ones(80, np.float32), np.zeros(40, np.float32))
    (few,) = steps_on(report, line(half, "# few"))
    assert few.active == [t < 8 for t in range(40)]
    touched = {touch.array: touch for touch in few.touches}
    assert touched["a"].elements == [2 * t if t < 8 else -1 for t in range(40)]
    assert touched["a"].kind == "load"
    assert touched["a"].size == 4
    assert touched["out"].elements == [t if t < 8 else -1 for t in range(40)]
    assert touched["out"].kind == "store"
    (many,) = steps_on(report, line(half, "# many"))
    assert many.active == [t >= 8 for t in range(40)]
    assert len(touched["a"].warp(1)) == 32


@pytest.mark.parametrize("case", ONE_BLOCK, ids=lambda c: c.name)
def test_steps_add_up_to_the_counters(case: Case) -> None:
    args = copy.deepcopy(case.make())
    report = xray(case.kernel, case.grid, case.block, *args, shared=case.shared)
    steps = report.step()
    if len(steps) >= 1000:
        pytest.skip("only the first thousand steps are kept")
    assert sum(sum(step.active) for step in steps) == report.totals.active_lanes
    sectors = {"load": 0, "store": 0}
    for touch in (touch for step in steps for touch in step.touches):
        if touch.space == "global" and touch.kind in sectors:
            for number in touch.warps():
                bytes_touched = {
                    e * touch.size + k
                    for e in touch.warp(number)
                    if e >= 0
                    for k in range(touch.size)
                }
                sectors[touch.kind] += len({b // 32 for b in bytes_touched})
    if all(getattr(a, "dtype", np.dtype("i4")).names is None for a in args):
        assert sectors["load"] == report.totals.global_load_sectors
        assert sectors["store"] == report.totals.global_store_sectors


def whoami(out):
    out[cuda.grid(1)] = cuda.blockIdx.x


def test_another_block_can_be_watched() -> None:
    args = to_device((np.zeros(96, np.float32),))
    report = simt.xray(whoami, block=2)[3, 32](*args)
    (step,) = [s for s in report.step(block=2) if s.touches]
    assert step.touches[0].elements == list(range(64, 96))
    with pytest.raises(simt.errors.BadInput, match="block=0"):
        report.step(block=0)


def test_steps_that_nobody_has_read_keep_no_array_and_can_be_read_elsewhere() -> None:
    large = np.zeros(1_000_000, np.float32)
    report = xray(half, 1, 40, np.ones(80, np.float32), large)
    sent = pickle.dumps(report.step())
    assert len(sent) < large.nbytes / 100
    assert pickle.loads(sent).steps == report.step().steps
    assert sum(touch.kind == "store" for step in report.step() for touch in step.touches) == 2

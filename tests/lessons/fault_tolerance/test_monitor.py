"""Where a rank's time goes: right by the simulated clock."""

import contextlib

import pytest

import gpulearn as gl
from gpulearn_lessons.fault_tolerance.monitor import StepMonitor


def two_ranks(steps=3):
    monitor = StepMonitor()
    for _ in range(steps):
        with monitor.measure("compute"):
            gl.parallel.compute(0.1 * (1 + gl.parallel.rank()))
        with monitor.measure("waiting"):
            gl.parallel.barrier()
        monitor.end_step()
    return monitor


@pytest.fixture(scope="module")
def monitors():
    return gl.simulate(two_ranks, 2, link=gl.parallel.Link(0.0, 1e12)).results


def test_the_fast_rank_waits_for_the_slow_one(monitors):
    fast, slow = monitors
    assert [one.rank for one in monitors] == [0, 1]
    assert fast.seconds() == pytest.approx({"compute": 0.3, "waiting": 0.3})
    assert slow.shares() == pytest.approx({"compute": 1, "waiting": 0})


def test_a_part_counts_when_its_block_fails_and_parts_of_a_step_add_up():
    def fails():
        monitor = StepMonitor()
        for _ in range(2):
            with monitor.measure("compute"):
                gl.parallel.compute(1.0)
        with contextlib.suppress(ZeroDivisionError), monitor.measure("waiting"):
            gl.parallel.compute(0.5)
            1 / 0  # noqa: B018
        monitor.end_step()
        monitor.end_step()
        return monitor

    (monitor,) = gl.simulate(fails, 1).results
    assert monitor.steps == [{"compute": 2.0, "waiting": 0.5}, {}]
    assert monitor.shares() == {"compute": 0.8, "waiting": 0.2}


def test_bad_input_is_told():
    for part in ("", "two words", 3, "1st", 'a"b'):
        with pytest.raises(gl.errors.BadInput, match="part is"), StepMonitor(0).measure(part):
            pass

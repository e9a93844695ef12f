"""Where a rank's time goes: right by the simulated clock, and readable by Prometheus."""

import contextlib
import re

import pytest

import gpulearn as gl
from gpulearn_lessons.fault_tolerance.monitor import StepMonitor, prometheus_text


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


def samples(text):
    """Labels → value of each counter, as Prometheus' own client reads them: JupyterLab needs it."""
    parser = pytest.importorskip("prometheus_client.parser")
    families = list(parser.text_string_to_metric_families(text))
    assert {family.type for family in families} == {"counter"}
    return {
        f"{family.name}_total": {tuple(s.labels.items()): s.value for s in family.samples}
        for family in families
    }


def test_the_text_says_what_was_counted(monitors):
    text = prometheus_text(monitors)
    for name in ("rank_seconds", "steps"):  # help, type and samples of a counter stand together
        assert re.search(rf"# HELP gpulearn_{name}_total .*\n# TYPE gpulearn_{name}_total c", text)
    counted = samples(text)
    seconds = counted["gpulearn_rank_seconds_total"]
    for monitor in monitors:
        for part, value in monitor.seconds().items():
            assert seconds[("rank", str(monitor.rank)), ("part", part)] == pytest.approx(
                value, abs=1e-6
            )
    assert counted["gpulearn_steps_total"] == {(("rank", r),): 3.0 for r in "01"}


def test_bad_input_is_told():
    for part in ("", "two words", 3, "1st", 'a"b'):
        with pytest.raises(gl.errors.BadInput, match="part is"), StepMonitor(0).measure(part):
            pass
    with pytest.raises(gl.errors.BadInput, match="is no StepMonitor"):
        prometheus_text([3])

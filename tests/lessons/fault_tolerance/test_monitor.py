"""Where a rank's time goes: right by the simulated clock, and told as the formats ask for."""

import contextlib
import re
import socket
import threading
from http.client import HTTPConnection

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn_lessons.fault_tolerance.monitor import (
    StepMonitor,
    counter,
    prometheus_text,
    serve_metrics,
    write_shares,
)


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
    assert slow.shares(1) == pytest.approx({"compute": 1, "waiting": 0})
    assert fast.shares() == pytest.approx(fast.shares(2))


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
    assert monitor.shares(0) == {"compute": 0.8, "waiting": 0.2}
    assert monitor.shares(1) == {}


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
            assert seconds[("rank", str(monitor.rank)), ("part", part)] == value
    assert counted["gpulearn_steps_total"] == {(("rank", r),): 3.0 for r in "01"}


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(WORDS, min_size=1, unique=True), st.floats(allow_nan=False), WORDS)
def test_whatever_stands_in_a_label_comes_back(values, number, told):
    text = counter("a_total", told, [({"one": value, "two": "x"}, number) for value in values])
    wanted = {(("one", value), ("two", "x")): number for value in values}
    assert samples(text) == {"a_total": wanted}


def get(port, path="/metrics", method="GET"):
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def test_a_scrape_gets_the_numbers_of_that_moment_and_nothing_is_left(monitors):
    growing = StepMonitor(0)
    before = threading.active_count()
    with serve_metrics(lambda: prometheus_text([growing])) as port:
        assert get(port)[:2] == (200, "text/plain; version=0.0.4; charset=utf-8")
        for count in (0, 1):
            assert f'gpulearn_steps_total{{rank="0"}} {count}.0\n' in get(port)[2]
            growing.steps.append({"compute": 1.0})
        assert get(port, "/metrics?x=1")[0] == 200
        assert get(port, "/")[0] == 404
        assert get(port, method="POST")[0] == 501
    assert threading.active_count() == before
    with socket.socket() as one:
        assert one.connect_ex(("127.0.0.1", port)) != 0
        one.close()


def test_the_port_is_free_again_after_an_error():
    with pytest.raises(ZeroDivisionError), serve_metrics(lambda: "") as port:
        1 / 0  # noqa: B018
    with socket.socket() as one:
        assert one.connect_ex(("127.0.0.1", port)) != 0


def test_tensorboard_reads_the_share_of_each_step(monitors, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    write_shares(tmp_path, monitors)
    for one in monitors:
        events = accumulator.EventAccumulator(str(tmp_path / f"rank_{one.rank}"))
        events.Reload()
        assert sorted(events.Tags()["scalars"]) == ["share/compute", "share/waiting"]
        found = events.Scalars("share/waiting")
        assert [event.step for event in found] == [1, 2, 3]
        assert [event.value for event in found] == pytest.approx(
            [one.shares(step)["waiting"] for step in range(3)], abs=1e-6
        )


def test_bad_input_is_told():
    for part in ("", "two words", 3, "1st", 'a"b'):
        with pytest.raises(gl.errors.BadInput, match="part is"), StepMonitor(0).measure(part):
            pass
    with pytest.raises(gl.errors.BadInput, match="is no StepMonitor"):
        prometheus_text([3])

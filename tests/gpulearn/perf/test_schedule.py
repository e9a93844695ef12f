"""The schedule of copies and kernels: a plain simulation as oracle, and what is seen."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn.perf.schedule import ENGINES, EngineTask, from_profiler, schedule
from gpulearn_lessons.between_kernels import graph_times, launch_bound

YES_OR_NO, COSTS = st.booleans(), st.integers(0, 3)


@st.composite
def programs(draw, issue=COSTS, waits=YES_OR_NO):
    """Tasks on a few streams, each after the last of its stream and perhaps after others."""
    tasks, last = [], {}
    for i in range(draw(st.integers(1, 9))):
        stream = draw(st.integers(0, 2))
        after = {last[stream]} if stream in last else set()
        if i and draw(st.booleans()):
            after.add(draw(st.integers(0, i - 1)))
        last[stream] = i
        engine = draw(st.sampled_from(("", *ENGINES)))
        seconds = float(draw(st.integers(1, 5))) if engine else 0.0
        tasks.append(EngineTask(engine, seconds, float(draw(issue)), tuple(sorted(after)),
                          draw(waits), stream))  # fmt: skip
    return tasks


def by_ticks(tasks):
    """The same by a clock that ticks: in each tick the host, then each engine, does what it can."""
    begun, ended, running, issued = {}, {}, {}, {}
    host_free, tick = 0.0, 0
    queue = list(range(len(tasks)))
    waits_for = None
    while len(ended) < len(tasks):
        moving = True
        while moving:
            moving = False
            for engine, i in list(running.items()):
                if begun[i] + tasks[i].seconds <= tick:
                    ended[i] = tick
                    del running[engine]
                    moving = True
            if waits_for is not None and waits_for in ended:
                host_free, waits_for, moving = max(host_free, tick), None, True
            if queue and waits_for is None and host_free + tasks[queue[0]].issue <= tick:
                i = queue.pop(0)
                issued[i] = host_free = host_free + tasks[i].issue
                waits_for = i if tasks[i].host_waits else None
                moving = True
                continue
            for i in sorted(issued):
                ready = all(before in ended for before in tasks[i].after)
                if i in begun or not ready or tasks[i].engine in running:
                    continue
                begun[i] = tick
                if tasks[i].engine:
                    running[tasks[i].engine] = i
                else:
                    ended[i] = tick
                moving = True
        tick += 1
    return begun, ended


@settings(max_examples=150, deadline=None)
@given(programs())
def test_the_schedule_is_that_of_a_clock_that_ticks(tasks):
    begun, ended = by_ticks(tasks)
    spans = schedule(tasks)
    assert [span.begin for span in spans] == [begun[i] for i in range(len(tasks))]
    assert [span.end for span in spans] == [ended[i] for i in range(len(tasks))]


def test_an_engine_does_not_wait_for_a_task_that_cannot_begin():
    tasks = [
        EngineTask("copy in", 10.0),
        EngineTask("compute", 1.0, after=(0,)),
        EngineTask("compute", 2.0),  # asked for later, and ready
    ]
    spans = schedule(tasks)
    assert [span.begin for span in spans] == [0.0, 10.0, 0.0]


def test_what_torchs_profiler_saw_becomes_a_timeline():
    def event(kind, name, start, end, stream):
        return SimpleNamespace(
            device_type=SimpleNamespace(name=kind), name=name, device_resource_id=stream,
            time_range=SimpleNamespace(start=start, end=end),
        )  # fmt: skip

    line = from_profiler(
        [
            event("CPU", "cudaLaunchKernel", 90, 95, 1),
            event("CUDA", "Memcpy DtoH (Device -> Pinned)", 150, 170, 7),
            event("CUDA", "Memcpy HtoD (Pinned -> Device)", 100, 120, 7),
            event("CUDA", "cudapy::after_seasons", 120, 150, 7),
        ],
        "a GPU",
    )
    assert [span.task.engine for span in line.spans] == list(ENGINES)
    assert line.makespan == pytest.approx(70e-6)
    assert line.busy["compute"] == pytest.approx(30 / 70)
    assert [span.task.stream for span in line.spans] == [7, 7, 7]
    assert "measured here on a GPU" in repr(line)
    assert from_profiler([], "a GPU").makespan == 0.0


# --- launches and graphs


def test_graph_times_are_modeled_without_a_gpu(monkeypatch):
    monkeypatch.setattr("simt.device.selection.torch_gpu", lambda: None)
    times, provenance = graph_times(10, 320_000)
    assert provenance.kind == "modeled"
    each = 8 * 320_000 / 320e9  # 8 µs, more than a launch
    assert times == {
        way: pytest.approx(5e-6 + 10 * each + 9 * 0.5e-6) for way in ("one by one", "as a graph")
    }


def test_times_and_numbers_that_cannot_be_are_refused():
    with pytest.raises(BadInput, match=r"kernels is \[1.0, -1.0\]"):
        launch_bound([1.0, -1.0], 1, 1)
    with pytest.raises(BadInput, match="kernels is"):
        launch_bound([], 1, 1)
    with pytest.raises(BadInput, match="gap is -1"):
        launch_bound([1.0], 1, -1)
    with pytest.raises(BadInput, match="kernels is 0"):
        graph_times(0, 10)
    with pytest.raises(BadInput, match="program is 3"):
        gl.perf.timeline(3)

"""The picture of a timeline draws what ranks, or the engines of a GPU, do, and says it."""

import pytest
import torch
from matplotlib.colors import to_hex

import gpulearn as gl
from gpulearn.perf.schedule import EngineTask, Timeline, schedule
from gpulearn.perf.series import Provenance
from gpulearn.plot import timelines

MODELLED = Provenance("modeled", "a test")
LINK = gl.parallel.Link(100e-6, 1e9)


def step(overlap):
    buffer, other = torch.zeros(1000), 1 - gl.parallel.rank()
    gl.parallel.compute(1e-3 * (1 + gl.parallel.rank()))
    pair = [gl.parallel.isend(buffer.clone(), other), gl.parallel.irecv(buffer, other)]
    if overlap:
        gl.parallel.compute(1e-3)
    for handle in pair:
        handle.wait()


@pytest.fixture
def drawn(figures_of):
    figures = figures_of(timelines)
    return lambda: figures[-1]


def bars(axes):
    """Where each bar begins and ends."""
    paths = (path for collection in axes.collections for path in collection.get_paths())
    return sorted(
        (round(p.vertices[:, 0].min(), 6), round(p.vertices[:, 0].max(), 6)) for p in paths
    )


def test_bars_are_the_intervals(drawn):
    run = gl.simulate(step, 2, False, link=LINK)
    picture = gl.plot.timeline(run)
    (axes,) = drawn().axes
    assert axes.get_xlabel() == "time (ms), modeled"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["rank 0", "rank 1"]
    wanted = sorted((round(1e3 * i.start, 6), round(1e3 * i.end, 6)) for i in run.timeline)
    assert bars(axes) == wanted
    assert len(wanted) == 7  # each computes, sends, receives; rank 0 waits
    assert "waits for 24 %" in picture.alt  # rank 0: 1 ms of 2.104, rank 1: none
    assert "0 % of the time with messages under way is hidden" in picture.alt


def test_kinds_differ_by_more_than_color_and_the_legend_agrees(drawn):
    gl.plot.timeline(gl.simulate(step, 2, False, link=LINK))
    (axes,) = drawn().axes
    looks = {c.get_hatch() for c in axes.collections if c.get_paths()}
    assert len(looks) == 4
    colors = {to_hex(c.get_facecolor()[0]) for c in axes.collections if c.get_paths()}
    (legend,) = drawn().legends
    assert colors == {to_hex(patch.get_facecolor()) for patch in legend.get_patches()}


def test_several_runs_share_one_axis_and_overlap_is_told(drawn):
    runs = {name: gl.simulate(step, 2, name == "overlapped", link=LINK)
            for name in ("plain", "overlapped")}  # fmt: skip
    picture = gl.plot.timeline(runs)
    top, bottom = drawn().axes
    assert top.get_xlim() == bottom.get_xlim()
    assert [a.get_title(loc="left").split(":")[0] for a in (top, bottom)] == list(runs)
    assert "Timeline of overlapped, 2 ranks" in picture.alt
    # the messages move while rank 1 computes, and rank 0 is done
    assert "; 50 % of the time with messages under way is hidden" in picture.alt


def test_what_cannot_be_drawn():
    with pytest.raises(gl.errors.BadInput, match="the run has 17 ranks: at most 16"):
        gl.plot.timeline(gl.simulate(lambda: None, 17))
    with pytest.raises(gl.errors.BadInput, match="runs is empty"):
        gl.plot.timeline({})
    with pytest.raises(gl.errors.BadInput, match="give what gl.simulate returns"):
        gl.plot.timeline(3)
    assert "over 0 ns" in gl.plot.timeline(gl.simulate(lambda: None, 1)).alt


def test_a_simulation_is_written_with_the_unit_that_fits():
    assert ": 4 s (modeled), 0 messages, 0 bytes" in repr(
        gl.simulate(lambda: gl.parallel.compute(4.0), 2)
    )


# --- the engines of a GPU


def two_streams():
    tasks = []
    for stream in (3, 8):
        first = len(tasks)
        tasks += [
            EngineTask("copy in", 4e-6, 1e-6, (), stream=stream),
            EngineTask("compute", 3e-6, 1e-6, (first,), stream=stream),
            EngineTask("copy out", 2e-6, 1e-6, (first + 1,), stream=stream),
        ]
    return Timeline(schedule([*tasks, EngineTask("", 0.0, 0.0, (2, 5), True, -1)]), MODELLED)


def test_bars_are_the_spans_and_what_the_host_does(drawn):
    line = two_streams()
    picture = gl.plot.timeline(line)
    (axes,) = drawn().axes
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "host", "copy in", "compute", "copy out"
    ]  # fmt: skip
    assert axes.get_xlabel() == "time (µs), modeled"
    asks = [(s.issued - s.task.issue, s.issued) for s in line.spans if s.task.issue]
    works = [(s.begin, s.end) for s in line.spans if s.task.engine]
    waits = [(line.spans[-1].issued, line.spans[-1].end)]
    wanted = sorted((round(1e6 * a, 6), round(1e6 * b, 6)) for a, b in [*asks, *works, *waits])
    assert bars(axes) == wanted
    assert [t.get_text() for t in axes.texts] == ["1", "1", "1", "2", "2", "2"]
    assert picture.alt == (
        f"{1e6 * line.makespan:.3g} µs, modeled by a test; busy: copy in "
        f"{100 * line.busy['copy in']:.0f} %, compute {100 * line.busy['compute']:.0f} %, copy out "
        f"{100 * line.busy['copy out']:.0f} % of the time."
    )


def test_streams_differ_by_more_than_color_and_the_legend_names_them(drawn):
    gl.plot.timeline({"one": two_streams(), "again": two_streams()})
    top, bottom = drawn().axes
    assert top.get_xlim() == bottom.get_xlim()
    assert [a.get_title(loc="left") for a in (top, bottom)] == ["one", "again"]
    (legend,) = drawn().legends
    assert [t.get_text() for t in legend.get_texts()] == ["stream 1", "stream 2", "the host waits"]
    looks = {(p.get_facecolor(), p.get_hatch()) for p in legend.get_patches()}
    assert len({color for color, _ in looks}) == len({hatch for _, hatch in looks}) == 3


def test_a_wait_too_short_to_be_seen_is_not_in_the_legend(drawn):
    tasks = [EngineTask("compute", 1e-9, 1e-6, stream=1) for _ in range(20)]
    last = EngineTask("", 0.0, 0.0, (19,), True, -1)
    gl.plot.timeline(Timeline(schedule([*tasks, last]), MODELLED))
    (legend,) = drawn().legends
    assert [t.get_text() for t in legend.get_texts()] == ["stream 1"]


def test_many_streams_have_numbers_and_no_legend(drawn):
    tasks = [EngineTask("compute", 1e-6, stream=number) for number in range(1, 9)]
    gl.plot.timeline(Timeline(schedule(tasks), MODELLED))
    assert not drawn().legends
    assert [t.get_text() for t in drawn().axes[0].texts] == list("12345678")

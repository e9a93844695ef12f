"""The picture of a GPU's engines draws the timeline that it is given, and says it."""

import pytest

import gpulearn as gl
from gpulearn.perf.schedule import EngineTask, Timeline, schedule
from gpulearn.perf.series import Provenance
from gpulearn.plot import timelines

MODELLED = Provenance("modelled", "a test")


@pytest.fixture
def drawn(figures_of):
    figures = figures_of(timelines)
    return lambda: figures[-1]


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


def bars(axes):
    paths = (path for collection in axes.collections for path in collection.get_paths())
    return sorted(
        (round(p.vertices[:, 0].min(), 6), round(p.vertices[:, 0].max(), 6)) for p in paths
    )


def test_bars_are_the_spans_and_what_the_host_does(drawn):
    line = two_streams()
    picture = gl.plot.timeline(line)
    (axes,) = drawn().axes
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "host", "copy in", "compute", "copy out"
    ]  # fmt: skip
    assert axes.get_xlabel() == "time (µs), modelled"
    asks = [(s.issued - s.task.issue, s.issued) for s in line.spans if s.task.issue]
    works = [(s.begin, s.end) for s in line.spans if s.task.engine]
    waits = [(line.spans[-1].issued, line.spans[-1].end)]
    wanted = sorted((round(1e6 * a, 6), round(1e6 * b, 6)) for a, b in [*asks, *works, *waits])
    assert bars(axes) == wanted
    assert [t.get_text() for t in axes.texts] == ["1", "1", "1", "2", "2", "2"]
    assert picture.alt == (
        f"{1e6 * line.makespan:.3g} µs, modelled by a test; busy: copy in "
        f"{100 * line.busy['copy in']:.0f} %, compute {100 * line.busy['compute']:.0f} %, copy out "
        f"{100 * line.busy['copy out']:.0f} % of the time."
    )


def test_streams_differ_by_more_than_colour_and_the_legend_names_them(drawn):
    gl.plot.timeline({"one": two_streams(), "again": two_streams()})
    top, bottom = drawn().axes
    assert top.get_xlim() == bottom.get_xlim()
    assert [a.get_title(loc="left") for a in (top, bottom)] == ["one", "again"]
    (legend,) = drawn().legends
    assert [t.get_text() for t in legend.get_texts()] == ["stream 1", "stream 2", "the host waits"]
    looks = {(p.get_facecolor(), p.get_hatch()) for p in legend.get_patches()}
    assert len({colour for colour, _ in looks}) == len({hatch for _, hatch in looks}) == 3


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

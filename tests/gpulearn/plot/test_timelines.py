"""The picture of a timeline draws what the run holds, and says it."""

import pytest
import torch
from matplotlib.colors import to_hex

import gpulearn as gl
from gpulearn.plot import timelines

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


def test_bars_are_the_intervals(drawn):
    run = gl.simulate(step, 2, False, link=LINK)
    picture = gl.plot.timeline(run)
    (axes,) = drawn().axes
    assert axes.get_xlabel() == "time (ms), modelled"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["rank 0", "rank 1"]
    bars = [
        (path.vertices[:, 0].min(), path.vertices[:, 0].max())
        for collection in axes.collections
        for path in collection.get_paths()
    ]
    wanted = [(1e3 * i.start, 1e3 * i.end) for i in run.timeline]
    for bar, interval in zip(sorted(bars), sorted(wanted), strict=True):
        assert bar == pytest.approx(interval)
    assert len(wanted) == 7  # each computes, sends, receives; rank 0 waits
    assert "waits for 24 %" in picture.alt  # rank 0: 1 ms of 2.104, rank 1: none
    assert "0 % of the time with messages under way is hidden" in picture.alt


def test_kinds_differ_by_more_than_colour_and_the_legend_agrees(drawn):
    gl.plot.timeline(gl.simulate(step, 2, False, link=LINK))
    (axes,) = drawn().axes
    looks = {c.get_hatch() for c in axes.collections if c.get_paths()}
    assert len(looks) == 4
    colours = {to_hex(c.get_facecolor()[0]) for c in axes.collections if c.get_paths()}
    (legend,) = drawn().legends
    assert colours == {to_hex(patch.get_facecolor()) for patch in legend.get_patches()}


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
    assert ": 4 s (modelled), 0 messages, 0 bytes" in repr(
        gl.simulate(lambda: gl.parallel.compute(4.0), 2)
    )

"""Times of all-reduces: what the picture and the explorer say is what the model says."""

import pytest

import gpulearn as gl
from gpulearn.parallel.allreduce import ALGORITHMS
from gpulearn_lessons.collectives import all_reduce, all_reduce_times
from gpulearn_lessons.collectives.all_reduce_times import fastest_spans

MEASURED = {
    "root": {1e3: 1e-4, 1e6: 9e-3},
    "ring": {1e3: 2e-3, 1e6: 4e-3},
    "library": {1e3: 3e-4, 1e6: 5e-3},
}


@pytest.mark.parametrize("ranks", [2, 3, 4, 64, 1000])
@pytest.mark.parametrize("link", ["NVLink 4", "10 Gbit"])
def test_the_fastest_is_the_fastest_on_both_sides_of_a_crossover(ranks, link):
    names = list(ALGORITHMS)
    spans = fastest_spans(ranks, link)
    last = {2: "doubling", 3: "ring", 1000: "ring"}  # halving wants a power of two
    assert spans[-1][1] == last.get(ranks, "halving")
    for place, (size, name) in enumerate(spans):
        if place:
            size *= 1.05
        times = {n: gl.parallel.all_reduce_seconds(n, ranks, size, link) for n in names}
        assert times[name] == pytest.approx(min(times.values()))
        if place:
            before = spans[place - 1]
            times = {n: gl.parallel.all_reduce_seconds(n, ranks, size / 1.1, link) for n in names}
            assert times[before[1]] == pytest.approx(min(times.values()))


def test_the_alt_says_who_is_fastest_and_what_is_modeled():
    link = gl.parallel.Link(1e-4, 1e9)
    alt = all_reduce(MEASURED, link, ranks=4).alt
    assert "measured at 1 KB, via one root is fastest with 0.1 ms" in alt
    assert "measured at 1 MB, ring is fastest with 4 ms" in alt
    assert "modeled, doubling is fastest for small tensors, from " in alt
    one = all_reduce({"ring": MEASURED["ring"]}, link, ranks=4).alt
    assert "measured at 1 KB, ring takes 2 ms; measured at 1 MB, ring takes 4 ms" in one
    alone = all_reduce({}, "NVLink 4", ranks=8).alt
    assert "measured" not in alone
    assert "modeled, doubling is fastest for small tensors, from " in alone


def test_each_series_says_where_it_is_from(figures_of):
    figures = figures_of(all_reduce_times)
    link = gl.parallel.Link(1e-4, 1e9)
    all_reduce(MEASURED, link, ranks=4)
    axes = figures[0].axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "via one root, measured", "via one root, modeled", "tree, modeled", "doubling, modeled",
        "ring, measured", "ring, modeled", "halving and doubling, modeled", "library, measured",
    ]  # fmt: skip
    curve = axes.lines[5]
    size, milliseconds = curve.get_xdata()[-1], curve.get_ydata()[-1]
    assert milliseconds == pytest.approx(
        1e3 * gl.parallel.all_reduce_seconds("ring", 4, size, link)
    )


def test_ticks_are_sizes_and_plain_numbers(figures_of):
    figures = figures_of(all_reduce_times)
    all_reduce(MEASURED, ranks=4)
    all_reduce({}, "10 Gbit", ranks=1024)
    for fig in figures:
        fig.canvas.draw()
    few, many = [fig.axes[0] for fig in figures]
    sizes = [text.get_text() for text in few.get_xticklabels()]
    assert {"1 KB", "10 KB", "100 KB", "1 MB"} <= set(sizes)
    assert {"0.2", "0.5", "1", "2", "5"} <= {text.get_text() for text in few.get_yticklabels()}
    wide = [text.get_text() for text in many.get_xticklabels()]
    assert {"100 bytes", "10 KB", "1 MB", "100 MB", "10 GB"} <= set(wide)
    assert "1 KB" not in wide  # it would touch its neighbors
    assert {"1", "1,000", "1,000,000"} <= {text.get_text() for text in many.get_yticklabels()}
    assert many.get_xlabel() == "size of the tensor on each of 1,024 ranks"


def test_bad_input_is_told():
    with pytest.raises(gl.errors.BadInput, match="algorithm"):
        all_reduce({"star": {1: 1}}, ranks=4)
    with pytest.raises(gl.errors.BadInput, match="nothing to draw"):
        all_reduce({}, ranks=4)

"""The figures of notebook 02 draw what they are given, and say what they show."""

import re

import pytest
from matplotlib.path import Path

from gpulearn import roof
from gpulearn.errors import BadInput
from gpulearn.perf.measured_roof import RoofPoint
from gpulearn.perf.roofline import Roof
from gpulearn.perf.series import Provenance
from gpulearn.plot import rooflines
from gpulearn.plot.rooflines import (
    compare_points,
    compare_roofs,
    draw_roofs,
    roofline,
    roofline_explorer,
)

HERE = Provenance("measured", "here")
LAPTOP = Roof("a laptop", 300e9, 50e9, HERE)
UPDATE = RoofPoint("update", 2e6, 12e6, 12e6 / 40e9, HERE)  # 40 of 50 GB/s
PRODUCT = RoofPoint("product", 2e9, 12e6, 2e9 / 150e9, HERE)  # 150 of 300 GFLOP/s


@pytest.fixture
def drawn(figures_of):
    """The axes of the last figure drawn."""
    figures = figures_of(rooflines)
    return lambda: figures[-1].axes[0]


def test_what_is_drawn_is_the_roof_and_the_points(drawn):
    roofline(LAPTOP, points=[UPDATE, PRODUCT], intensity=2.0)
    line, update, product, mark = drawn().lines
    assert list(line.get_ydata())[1:] == [300.0, 300.0]  # the ridge, and right of it
    low = line.get_xdata()[0]
    assert line.get_ydata()[0] == pytest.approx(low * 50)
    assert line.get_xdata()[1] == 6.0
    assert (update.get_xdata()[0], update.get_ydata()[0]) == pytest.approx((1 / 6, 40 / 6))
    assert product.get_ydata()[0] == pytest.approx(150.0)
    assert set(mark.get_xdata()) == {2.0}
    assert update.get_marker() != product.get_marker()
    assert "per byte" in drawn().get_xlabel()
    assert "GFLOP/s" in drawn().get_ylabel()
    texts = [t.get_text() for t in drawn().get_legend().get_texts()]
    assert texts == [
        "a laptop\n(measured here)",
        "update (80% of its roof)",
        "product (50% of its roof)",
    ]


def test_everything_lies_within_the_axes(drawn):
    far = RoofPoint("far", 1e12, 1e6, 1.0, HERE)
    roofline(LAPTOP, roof("H100", "bfloat16"), points=[UPDATE, far], intensity=0.01)
    low, high = drawn().get_xlim()
    assert low < 0.01
    assert high > far.intensity
    low, high = drawn().get_ylim()
    assert low <= LAPTOP.attainable(0.01) / 1e9
    assert high >= 989e3


def test_the_alternative_text_states_where_points_lie():
    alt = roofline(LAPTOP, points=[UPDATE, PRODUCT]).alt
    assert alt == (
        "GFLOP/s over operations per byte, both axes logarithmic: the roof of a laptop rises to "
        "300 GFLOP/s at 6 operations per byte; update at 0.167 reaches 6.67 of 8.33 GFLOP/s, "
        "limited by memory; product at 167 reaches 150 of 300 GFLOP/s, limited by arithmetic."
    )


def test_tables():
    text = repr(compare_points(LAPTOP, UPDATE, PRODUCT))
    assert re.search(r"update +0\.167 +memory +300 µs +6\.67 +8\.33 +80%", text)
    assert re.search(r"product +167 +arithmetic +13\.3 ms +150 +300 +50%", text)
    assert "Times: measured here. Roof: a laptop, measured here." in text
    text = repr(compare_roofs(LAPTOP, roof("H100", "bfloat16")))
    assert re.search(r"a laptop +0\.3 +50 +6 +measured here", text)
    assert re.search(r"H100, bfloat16 +989 +3,350 +295 +modeled by its data sheet", text)


def test_a_point_above_the_roof_is_named():
    cached = RoofPoint("small sum", 1e6, 12e6, 12e6 / 90e9, HERE)  # 90 of 50 GB/s
    text = repr(compare_points(LAPTOP, UPDATE, cached))
    assert "Above the roof: small sum. Either the roof was measured while" in text
    assert "Above" not in repr(compare_points(LAPTOP, UPDATE))


def test_the_regions_the_ridge_and_each_point_are_named(drawn):
    roofline(LAPTOP, points=[UPDATE, PRODUCT])
    words = {text.get_text().strip(): text for text in drawn().texts}
    assert set(words) == {"memory-bound", "compute-bound", "ridge 6", "update", "product"}
    assert words["ridge 6"].xy == (6.0, 300.0)
    assert words["memory-bound"].get_position()[0] == drawn().get_xlim()[0]


def test_a_disturbed_point_is_labeled():
    busy = RoofPoint("x", 1.0, 1.0, 1.0, Provenance("measured", "here", busy=True))
    assert "Times: measured here, while busy." in repr(compare_points(LAPTOP, busy))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: roofline(), "nothing to plot"),
        (lambda: roofline(UPDATE), "is no roof: give what gl.measured_roof"),
        (lambda: roofline(LAPTOP, points=[LAPTOP]), "is no point: give what gl.perf.roof_point"),
        (lambda: roofline(LAPTOP, points=UPDATE), "points is .*: give a list"),
        (lambda: roofline(LAPTOP, intensity=0), "intensity is 0: give a number above zero"),
        (lambda: roofline(*[LAPTOP] * 9), "too much to tell apart: give 8"),
        (lambda: compare_points(LAPTOP), "nothing to compare"),
        (lambda: compare_roofs(), "nothing to compare"),
        (lambda: roofline_explorer(UPDATE), "is no roof"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=sentence):
        call()


def test_the_explorer_offers_what_a_gpu_can_do():
    controls = roofline_explorer(LAPTOP).controls
    controls["gpu"].value = "H200"
    controls["dtype"].value = "tf32"
    controls["gpu"].value = "T4"  # has no TF32
    assert controls["dtype"].value == "float32"


def test_the_explorer_says_what_limits_whom():
    _, text = draw_roofs(LAPTOP, [UPDATE], "T4", "float32", 1.0)
    # the laptop: 50 GFLOP/s, 1 GB in 20 ms; the T4: 320 GFLOP/s, 1 GB in 3.125 ms
    assert text == (
        "At 1 FLOP per byte, this machine reaches at best 50 GFLOP/s, limited by memory, and "
        "needs 20 ms for each GB; T4 reaches at best 320 GFLOP/s, limited by memory, and needs "
        "3.12 ms for each GB: 6.4 times as fast."
    )
    _, text = draw_roofs(LAPTOP, [], "H100", "bfloat16", 2048.0)
    assert "H100, bfloat16 reaches at best 989,000 GFLOP/s, limited by arithmetic" in text


def test_a_name_lies_on_no_line_no_marker_and_no_other_name(drawn):
    above = RoofPoint("small sum", 2**15, 12 * 2**15, 2**15 / 13e9, HERE)  # 3 times its roof
    below = RoofPoint("large sum", 2**24, 12 * 2**24, 2**24 / 4e9, HERE)
    close = [
        RoofPoint(f"layer, b = {b}", b * 1e9, 1e9 * b / i, b / (r * 1e9) * 1e9, HERE)
        for b, i, r in ((1, 0.5, 20.0), (2, 0.625, 26.0), (3, 16.0, 210.0), (4, 340.0, 240.0))
    ]
    roofline(LAPTOP, points=[above, below, *close])
    axes = drawn()
    names = [text for text in axes.texts if text.get_text() in {p.name for p in (above, *close)}]
    assert len(names) == 5
    boxes = [name.get_window_extent() for name in names]
    for number, box in enumerate(boxes):
        assert axes.bbox.x0 < box.x0 < box.x1 < axes.bbox.x1
        assert not box.count_overlaps(boxes[:number])
        for line in axes.lines:
            pixels = line.get_transform().transform(line.get_xydata())
            assert not box.count_contains(pixels)
            assert not Path(pixels).intersects_bbox(box, filled=False)

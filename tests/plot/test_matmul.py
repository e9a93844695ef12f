"""Figures carry their finding as text, and the explorer redraws and reports."""

import re

import numpy as np
import pytest

from gpulearn import show, table
from gpulearn.device import selection
from gpulearn.errors import BadInput
from gpulearn.perf.matmul_times import rates
from gpulearn.perf.series import Provenance, Series
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.matmul import compare_gpus, plot_rates, plot_times
from gpulearn.plot.matmul_controls import BEST, draw, gpu_series, matmul_explorer
from gpulearn.plot.style import figure

HERE = Provenance("measured", "a laptop")
SIZES = (64, 128, 256)
CPU = Series("numpy, float32", SIZES, (1e-5, 1e-4, 1e-3), HERE)
GPU = Series("GPU, float32", SIZES, (5e-5, 6e-5, 7e-5), Provenance("modelled", "the T4's roofline"))


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("cpu", "forced"))
    gpu_series.cache_clear()


def test_show_makes_an_img_with_alt():
    with figure() as (fig, axes):
        axes.plot([1, 2], [3, 4])
    picture = show(fig, 'A line that rises by "one"')
    assert picture.png.startswith(b"\x89PNG")
    assert 'alt="A line that rises by &quot;one&quot;"' in picture._repr_html_()
    assert repr(picture) == '[figure: A line that rises by "one"]'


def test_show_refuses():
    with figure() as (fig, _), pytest.raises(BadInput, match="alt is '': write one sentence"):
        show(fig, "")
    with pytest.raises(BadInput, match="show was given a list: give it a matplotlib figure"):
        show([1], "a figure of nothing")


def test_figures_do_not_reach_pyplot():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    plot_times(CPU, GPU)
    assert plt.get_fignums() == before


def test_times_say_where_the_gpu_takes_over():
    assert plot_times(CPU, GPU).alt == (
        "Time over n on logarithmic axes; against numpy, float32: "
        "GPU, float32 stays faster from n = 128."
    )
    assert "does not stay faster at any size" in plot_times(GPU, GPU).alt


def test_rates_follow_from_times():
    assert rates(CPU) == pytest.approx(
        [2 * n**3 / s for n, s in zip(SIZES, CPU.seconds, strict=True)]
    )
    assert "from 52.4 at n = 64 to 33.6 at n = 256" in plot_rates(CPU, peak=1e11).alt


@pytest.fixture
def drawn(monkeypatch):
    """The axes of the last figure drawn."""
    figures = []
    monkeypatch.setattr(
        "gpulearn.plot.matmul.show", lambda fig, alt: figures.append(fig) or show(fig, alt)
    )
    return lambda: figures[-1].axes[0]


def test_what_is_drawn_is_the_data(drawn):
    plot_times(CPU, GPU, n=64, span=(1e-6, 1.0))
    cpu, gpu, circle, size = drawn().lines
    assert tuple(cpu.get_ydata()) == CPU.seconds
    assert tuple(gpu.get_ydata()) == GPU.seconds
    assert (circle.get_xdata()[0], circle.get_ydata()[0]) == (128, 1e-4)  # on the CPU's curve
    assert set(size.get_xdata()) == {64}
    assert drawn().get_ylabel() == "time for one product (s)"
    assert drawn().get_ylim() == (1e-6, 1.0)
    texts = [t.get_text() for t in drawn().figure.legends[0].get_texts()]
    assert texts[1] == "GPU, float32\n(ahead from n = 128; modelled by the T4's roofline)"


def test_rates_are_drawn_in_the_unit_of_the_axis(drawn):
    plot_rates(CPU, peak=1e11)
    rate, peak = drawn().lines
    assert rate.get_ydata()[0] == pytest.approx(2 * 64**3 / 1e-5 / 1e9)
    assert set(peak.get_ydata()) == {100.0}
    assert drawn().get_ylabel() == "rate (GFLOP/s)"


def test_what_cannot_be_compared_is_refused():
    other = Series("GPU, float32", (64, 128), (1e-9, 1e-9), HERE)
    with pytest.raises(BadInput, match=r"GPU, float32 has the sizes \(64, 128\) and numpy"):
        plot_times(CPU, other)
    with pytest.raises(BadInput, match="9 series are too many to tell apart: give 8 at most"):
        plot_rates(*[CPU] * 9)


def test_nothing_to_plot():
    with pytest.raises(BadInput, match="nothing to plot"):
        plot_times()
    with pytest.raises(BadInput, match=r"\[Series.* is no series: give what gl.perf.cpu_times"):
        plot_times([CPU, GPU])
    with pytest.raises(BadInput, match="3 is no series"):
        plot_rates(CPU, 3)
    with pytest.raises(BadInput, match="There is no float32 series"):
        matmul_explorer()


def test_table_reads_as_text_and_html():
    shown = table([{"n": 8, "x<y": "a&b"}], caption="from here")
    assert repr(shown) == "n  x<y\n-  ---\n8  a&b\nfrom here"
    html = shown._repr_html_()
    assert '<th scope="col" style="text-align:left">x&lt;y</th>' in html
    assert '<td style="text-align:left">a&amp;b</td>' in html
    assert "<caption" in html


def test_a_long_caption_does_not_make_a_table_wider_than_the_page():
    said = "No GPU here, and no times recorded. " * 8 + "a<b."
    lines = re.search("<caption.*?>(.*)</caption>", table([{"n": 8}], said)._repr_html_())[1]
    assert lines.replace("<br>", " ") == said.replace("<", "&lt;")
    assert all(len(line) <= 90 for line in lines.split("<br>"))


def test_table_sets_numbers_right_and_words_left():
    row = {"n": 8, "time": "9.4 ms", "shape": "(32, 8)", "gain": "–", "from": "2 data sheets"}
    html = table([row, row | {"gain": "<1×"}])._repr_html_()
    for heading, side in zip(row, ["left", "right", "right", "right", "left"], strict=True):
        assert f'text-align:{side}">{heading}</th>' in html


def test_a_date_or_a_number_is_not_broken_and_words_are():
    html = table([{"n": 8, "last": "✓ 2026-11-21", "open": "one, two"}])._repr_html_()
    assert ';white-space:nowrap">✓ 2026-11-21</td>' in html
    assert ';white-space:nowrap">one, two</td>' not in html


@pytest.mark.parametrize("rows", [[], None, [1, 2], [{"a": 1}, {"b": 2}], "abc"])
def test_table_refuses(rows):
    with pytest.raises(BadInput):
        table(rows)


def test_a_legend_on_a_curve_stays_legible():
    with figure() as (_, axes):
        axes.plot([1, 2], [3, 4], label="a curve")
        legend = axes.legend()
    ground = legend.get_frame()
    assert legend.get_frame_on()
    assert ground.get_alpha() > 0.8
    assert ground.get_facecolor()[:3] == (1, 1, 1)


def test_compare_gpus_names_sources():
    text = repr(compare_gpus(2e11, 4e10))
    assert re.search(r"0\.2 +40 +measured here", text)
    assert re.search(r"T4 GPU +8\.1 \(40\.5×\) +320 \(8×\) +NVIDIA", text)
    assert text.endswith("In brackets: as a multiple of this CPU.")


def test_draw_is_a_function_of_its_values():
    picture, said = draw({"float32": CPU}, 128, "H200", "bfloat16", False)
    assert said.startswith("n = 128: numpy, float32 100 µs, GPU, bfloat16 5")
    assert "the GPU is at best" in said
    assert "from n = 64" in picture.alt
    _, best = draw({"float32": CPU}, 64, BEST, "float32", True)
    assert "the CPU is" in best


def explorer():
    double = Series("numpy, float64", SIZES, (2e-5, 2e-4, 2e-3), HERE)
    return matmul_explorer(CPU, double)


def test_explorer_reads_without_being_touched():
    bundle = explorer()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "n = 128: numpy, float32" in bundle["text/html"]
    assert "<img alt=" in bundle["text/html"]
    assert bundle["text/plain"].startswith("[interactive figure: n = 128: numpy, float32")


def test_explorer_redraws():
    made = explorer()
    before = made.picture.value
    made.controls["n"].value = 64
    assert "n = 64: numpy, float32" in made.picture.value
    made.controls["gpu"].value = "H200"
    assert "tf32" in made.controls["dtype"].options
    made.controls["dtype"].value = "tf32"
    assert "GPU, tf32" in made.picture.value
    made.controls["gpu"].value = "T4"  # has no TF32: falls back on float32
    assert made.controls["dtype"].value == "float32"
    made.controls["copies"].value = True
    assert "with copies" in made.picture.value
    assert made.picture.value != before
    assert made.faults.outputs == ()


def test_a_gpu_is_timed_once_for_each_choice(monkeypatch):
    calls = []
    monkeypatch.setattr(
        "gpulearn.plot.matmul_controls.gpu_times",
        lambda *a: calls.append(a) or Series("GPU", SIZES, (1.0, 1.0, 1.0), HERE),
    )
    gpu_series.cache_clear()
    made = explorer()
    for n in SIZES:
        made.controls["n"].value = n
    gpu_series.cache_clear()
    assert len(calls) == 1


def test_an_error_in_a_redraw_stands_under_the_picture():
    import ipywidgets

    with figure() as (fig, axes):
        axes.plot([1, 2])
    picture = show(fig, "two points on a line")

    def draw_or_fail(k):
        return (picture, "fine") if k == 3 else 1 / 0

    made = Explorer(draw_or_fail, {"k": ipywidgets.IntSlider(value=3)})
    with pytest.raises(ZeroDivisionError):  # outside a kernel an Output lets errors through
        made.controls["k"].value = 4


def test_the_bundle_serves_ipywidgets_7_as_well():
    bundle = explorer()._repr_mimebundle_()
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert set(view) == {"version_major", "version_minor", "model_id"}
    assert len(view["model_id"]) == 32


def test_every_setting_of_the_explorer_draws():
    made = explorer()
    for gpu in made.controls["gpu"].options:
        made.controls["gpu"].value = gpu
        for dtype in made.controls["dtype"].options:
            made.controls["dtype"].value = dtype
            assert f"GPU, {dtype}" in made.picture.value


def test_explorer_controls_have_names_for_screen_readers():
    assert all(control.description for control in explorer().controls.values())


def test_explorer_of_any_function():
    import ipywidgets

    with figure() as (fig, axes):
        axes.plot(np.arange(3))
    picture = show(fig, "three points on a line")
    made = Explorer(lambda k: (picture, f"k is {k}"), {"k": ipywidgets.IntSlider(value=3)})
    made.controls["k"].value = 4
    assert "k is 4" in made.picture.value

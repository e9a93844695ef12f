"""Figures carry their finding as text, and the explorer redraws and reports."""

import re

import numpy as np
import pytest

from gpulearn import device, matmul_explorer, show, table
from gpulearn.errors import BadInput
from gpulearn.figures.explorer import Explorer
from gpulearn.figures.matmul import compare_gpus, plot_rates, plot_times, rates
from gpulearn.figures.matmul_explorer import BEST, draw
from gpulearn.figures.style import figure
from gpulearn.timing import Provenance, Series

HERE = Provenance("measured", "a laptop")
SIZES = (64, 128, 256)
CPU = Series("numpy, float32", SIZES, (1e-5, 1e-4, 1e-3), HERE)
GPU = Series("GPU, float32", SIZES, (5e-5, 6e-5, 7e-5), Provenance("modelled", "the T4's roofline"))


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "current", lambda: device.Device("cpu", "forced"))


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


def test_nothing_to_plot():
    with pytest.raises(BadInput, match="nothing to plot"):
        plot_times()
    with pytest.raises(BadInput, match=r"\[Series.* is no series: give what gl.cpu_times"):
        plot_times([CPU, GPU])
    with pytest.raises(BadInput, match="3 is no series"):
        plot_rates(CPU, 3)
    with pytest.raises(BadInput, match="There is no float32 series"):
        matmul_explorer()


def test_table_reads_as_text_and_html():
    shown = table([{"n": 8, "x<y": "a&b"}], caption="from here")
    assert repr(shown) == "n  x<y\n-  ---\n8  a&b\nfrom here"
    html = shown._repr_html_()
    assert '<th scope="col">x&lt;y</th>' in html
    assert "<td>a&amp;b</td>" in html
    assert "<caption" in html


@pytest.mark.parametrize("rows", [[], None, [1, 2], [{"a": 1}, {"b": 2}], "abc"])
def test_table_refuses(rows):
    with pytest.raises(BadInput):
        table(rows)


def test_compare_gpus_names_sources():
    text = repr(compare_gpus(2e11, 4e10))
    assert re.search(r"0\.2 +40 +measured here", text)
    assert "T4 GPU" in text


def test_draw_is_a_function_of_its_values():
    picture, said = draw({"float32": CPU}, 128, "H200", "bfloat16", False)
    assert said.startswith("n = 128: numpy, float32 100 µs, GPU, bfloat16 5")
    assert "the GPU is" in said
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

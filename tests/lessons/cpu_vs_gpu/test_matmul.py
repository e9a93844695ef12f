"""Figures of the matrix product carry their finding as text."""

import re

import pytest

from gpulearn.errors import BadInput
from gpulearn.perf import matmul_times
from gpulearn.perf.series import Provenance, Series
from gpulearn_lessons.cpu_vs_gpu import matmul_figures as matmul
from gpulearn_lessons.cpu_vs_gpu.matmul_figures import compare_gpus, rates, times

HERE = Provenance("measured", "a laptop")
SIZES = (64, 128, 256)
CPU = Series("numpy, float32", SIZES, (1e-5, 1e-4, 1e-3), HERE)
GPU = Series("GPU, float32", SIZES, (5e-5, 6e-5, 7e-5), Provenance("modeled", "the T4's roofline"))


def test_times_say_where_the_gpu_takes_over():
    assert times(CPU, GPU).alt == (
        "Time over n on logarithmic axes; against numpy, float32: "
        "GPU, float32 stays faster from n = 128."
    )
    assert "does not stay faster at any size" in times(GPU, GPU).alt


def test_rates_follow_from_times():
    assert matmul_times.rates(CPU) == pytest.approx(
        [2 * n**3 / s for n, s in zip(SIZES, CPU.seconds, strict=True)]
    )
    assert "from 52.4 at n = 64 to 33.6 at n = 256" in rates(CPU, peak=1e11).alt


@pytest.fixture
def drawn(figures_of):
    """The axes of the last figure drawn."""
    figures = figures_of(matmul)
    return lambda: figures[-1].axes[0]


def test_what_is_drawn_is_the_data(drawn):
    times(CPU, GPU)
    cpu, gpu, circle = drawn().lines
    assert tuple(cpu.get_ydata()) == CPU.seconds
    assert tuple(gpu.get_ydata()) == GPU.seconds
    assert (circle.get_xdata()[0], circle.get_ydata()[0]) == (128, 1e-4)  # on the CPU's curve
    assert drawn().get_ylabel() == "time for one product (s)"
    texts = [t.get_text() for t in drawn().figure.legends[0].get_texts()]
    assert texts[1] == "GPU, float32\n(ahead from n = 128; modeled by the T4's roofline)"


def test_rates_are_drawn_in_the_unit_of_the_axis(drawn):
    rates(CPU, peak=1e11)
    rate, peak = drawn().lines
    assert rate.get_ydata()[0] == pytest.approx(2 * 64**3 / 1e-5 / 1e9)
    assert set(peak.get_ydata()) == {100.0}
    assert drawn().get_ylabel() == "rate (GFLOP/s)"


def test_what_cannot_be_compared_is_refused():
    other = Series("GPU, float32", (64, 128), (1e-9, 1e-9), HERE)
    with pytest.raises(BadInput, match=r"GPU, float32 has the sizes \(64, 128\) and numpy"):
        times(CPU, other)
    with pytest.raises(BadInput, match="9 series are too many to tell apart: give 8 at most"):
        rates(*[CPU] * 9)


def test_nothing_to_plot():
    with pytest.raises(BadInput, match="nothing to plot"):
        times()
    with pytest.raises(BadInput, match=r"\[Series.* is no series: give what gl.perf.cpu_times"):
        times([CPU, GPU])
    with pytest.raises(BadInput, match="3 is no series"):
        rates(CPU, 3)


def test_compare_gpus_names_sources():
    text = repr(compare_gpus(2e11, 4e10))
    assert re.search(r"0\.2 +40 +measured here", text)
    assert re.search(r"T4 GPU +8\.1 \(40\.5×\) +320 \(8×\) +NVIDIA", text)
    assert text.endswith("In brackets: as a multiple of this CPU.")

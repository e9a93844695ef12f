"""The ladder's rates, its chart and table, and the kernel with other tiles."""

import re
from pathlib import Path

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS, gpu_spec
from gpulearn.perf.series import Provenance
from gpulearn_lessons.matmul import compare_rungs, ladder_explorer, product_scheme
from gpulearn_lessons.matmul import rung_rates as rates_module
from gpulearn_lessons.matmul.ladder import LADDER, NOT_ADDITIVE, ladder_counts
from gpulearn_lessons.matmul.ladder_figures import MEASURES, draw_ladder
from gpulearn_lessons.matmul.matmul_ladder import tile_intensity
from gpulearn_lessons.matmul.rung_rates import (
    LIBRARY,
    PEAK,
    Rate,
    kernel_roofs,
    ladder_rates,
    live_rates,
    modeled_rates,
)


@pytest.fixture(scope="module")
def reports():
    return {name: rung.sample(128, 128) for name, rung in LADDER.items()}


@pytest.fixture(scope="module")
def counts(reports):
    return {name: report.totals for name, report in reports.items()}


@pytest.fixture
def nothing_here(monkeypatch):
    """No recording, as on a machine without a GPU."""
    monkeypatch.setattr(recordings, "find", lambda name: None)


def test_the_lowest_of_three_roofs_is_the_rate(counts):
    for gpu in GPUS:
        for name, rate in modeled_rates(counts, gpu).items():
            if name == PEAK:
                assert rate.flops_per_second == gpu_spec(gpu).vector["float32"]
                continue
            roofs = kernel_roofs(counts[name], gpu)
            assert rate.flops_per_second == min(roofs.values()) == roofs[rate.limit]
            assert rate.provenance == Provenance("modeled", f"the three roofs of the {gpu}")


def test_two_roofs_are_those_of_the_estimate(reports):
    for report in reports.values():
        estimate, roofs = gl.estimate(report, "A100 40GB"), kernel_roofs(report.totals, "A100 40GB")
        work = report.totals.flops32
        assert roofs["memory"] == pytest.approx(work / estimate.memory)
        assert roofs["arithmetic"] == pytest.approx(work / estimate.arithmetic)


def test_shared_memory_makes_one_pass_in_the_time_of_a_warps_products(reports):
    # V100: 64 lanes do 2 products of a warp in a cycle, shared memory makes 1 pass
    tiled = reports["shared tile"]
    passes = tiled.totals.shared_load_wavefronts + tiled.totals.shared_store_wavefronts
    cycles_of_products = tiled.totals.flops32 / 2 / 64

    def share(gpu):
        roofs = kernel_roofs(tiled.totals, gpu)
        return roofs["shared memory"] / roofs["arithmetic"]

    assert share("V100") == pytest.approx(cycles_of_products / passes)
    # twice the lanes wait twice as long, measured in their own peak; so do those of a T4, whose
    # shared memory needs two cycles for a pass
    assert share("RTX 3090") == pytest.approx(share("V100") / 2)
    assert share("T4") == pytest.approx(share("V100") / 2)


def test_each_rung_is_at_least_as_fast_as_the_one_below():
    # at 128 the last rung has one block, and C weighs most
    counts = {name: rung.sample(256, 256).totals for name, rung in LADDER.items()}
    for gpu in GPUS:
        found = [rate.flops_per_second for rate in modeled_rates(counts, gpu).values()]
        assert found == sorted(found)


@pytest.mark.usefixtures("nothing_here")
def test_rates_are_modeled_where_there_is_nothing_else(counts, monkeypatch):
    monkeypatch.setattr(rates_module.selection, "current", lambda: type("D", (), {"kind": "cpu"}))
    assert ladder_rates(counts) == modeled_rates(counts, "T4")


@pytest.fixture
def recorded(monkeypatch):
    """A recording of three sizes; the last has no time of two rungs."""
    rows = [
        {"n": n, "rung": LIBRARY, "dtype": dtype, "seconds": n * seconds}
        for n in (50, 100, 8192)
        for dtype, seconds in (("bfloat16", 1e-4), ("float32", 1e-3))
    ]
    rows += [
        {"n": n, "rung": name, "dtype": "float32", "seconds": n * (place + 2) * 1e-3}
        for n in (50, 100)
        for place, name in enumerate(LADDER)
    ]
    rows.append({"n": 8192, "rung": "wide loads", "dtype": "float32", "seconds": 10.0})
    rows.append({"n": 8192, "rung": "naive", "dtype": "float32", "left_out": "too slow"})
    rows.append({"n": 8192, "rung": "warp tiles", "dtype": "float32", "error": "wrong: 0.5"})
    made = recordings.Recording(
        "ladder", "NVIDIA H200", "580.0", "2026-11-01", {}, "make gpu", rows
    )
    monkeypatch.setattr(recordings, "find", lambda name: made if name == "ladder" else None)
    monkeypatch.setattr(rates_module.selection, "current", lambda: type("D", (), {"kind": "cpu"}))


@pytest.mark.usefixtures("recorded")
def test_a_recording_comes_before_a_model(counts):
    found = ladder_rates(counts)
    assert list(found) == [*LADDER, LIBRARY]
    # of the sizes up to 4,096 the largest, and the library in float32
    assert found[LIBRARY].flops_per_second == pytest.approx(2 * 100**3 / 0.1)
    assert found["coalesced"].flops_per_second == pytest.approx(2 * 100**3 / 0.3)
    assert str(found["naive"].provenance) == "recorded on NVIDIA H200, n = 100, 2026-11-01"


@pytest.mark.usefixtures("recorded")
def test_the_figure_and_the_table_show_a_recording(counts):
    text = repr(compare_rungs(counts))
    assert "n = 100" in text
    assert re.search(r"naive +0.01 +50 ", text)
    explorer = ladder_explorer(counts)
    assert "recorded on NVIDIA H200, n = 100, 2026-11-01" in explorer.picture.value
    assert explorer.faults.outputs == ()


def test_live_rates_run_every_rung_and_the_library(monkeypatch):
    monkeypatch.setattr(rates_module.selection, "current", lambda: type("D", (), {"kind": "gpu"}))
    monkeypatch.setattr(rates_module, "live_rates", lambda: live_rates(16, seconds=0.001))
    found = ladder_rates({})
    assert list(found) == [*LADDER, LIBRARY]
    assert all(rate.flops_per_second > 0 for rate in found.values())
    assert {rate.provenance.kind for rate in found.values()} == {"measured"}


@pytest.mark.usefixtures("nothing_here")
def test_a_rate_that_is_timed_stands_beside_the_librarys_share(counts):
    rates = {n: Rate(5e11, Provenance("measured", "T4")) for n in (*LADDER, LIBRARY)}
    picture, _ = draw_ladder(counts, rates, "share")
    assert "Share of torch.matmul's rate (%)" in picture.alt
    assert "naive 1.3, coalesced 8.5, shared tile 12.8" in picture.alt


def test_counters_of_a_large_product_are_those_of_its_launch(reports):
    a, b, c = (cuda.to_device(np.ones((256, 256), np.float32)) for _ in "abc")
    larger = {name: LADDER[name].report(a, b, c) for name in ("shared tile", "warp tiles")}
    for n, launched in ((128, reports), (256, larger)):
        large = ladder_counts(n)
        for name, report in launched.items():
            for field, value in report.totals.as_dict().items():
                if field not in NOT_ADDITIVE:
                    assert getattr(large[name], field) == value, (name, field)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_chart_says_every_number_and_the_published_ones(counts, measure):
    picture, sentence = draw_ladder(counts, modeled_rates(counts, "T4"), measure)
    assert picture.png.startswith(b"\x89PNG")
    assert all(name in sentence for name in LADDER)
    assert sentence in picture.alt
    # the same share of the peak as its 1.3, 8.5 and 12.8 % of what cuBLAS reached, 60 % of it
    assert "naive 0.78, coalesced 5.11, shared tile 7.69" in picture.alt
    modeled = MEASURES[measure].value is None
    assert ("modeled by the three roofs of the T4" in sentence) == modeled
    assert ("counted by the SIMT machine" in sentence) != modeled


@pytest.mark.usefixtures("nothing_here")
def test_the_table_holds_ours_and_the_published(counts):
    text = repr(compare_rungs(counts))
    assert re.search(r"shared tile +982 +shared memory +12.8", text)
    assert re.search(r"peak rate +8,100 +– +–", text)
    assert "modeled by the three roofs of the T4" in text
    assert "RTX A6000" in text


def test_the_intensity_of_a_tile_is_what_the_machine_counts(reports):
    for name, side in (("shared tile", 32), ("register tile", 64)):
        assert tile_intensity(side, side, 128) == reports[name].totals.arithmetic_intensity


def test_the_profilers_names_are_those_of_the_counters():
    from simt.observers import counters

    path = Path(__file__).parents[3] / "notebooks" / "06_matmul_ladder.ipynb"
    named = set(re.findall(r"\b(?:l1tex|smsp)__\w+(?:\.sum)?", path.read_text(encoding="utf-8")))
    assert len(named) == 1
    assert all(name in counters.__doc__ for name in named)


def test_float64_lowers_the_roof_of_arithmetic():
    def doubles(a, out):
        i = cuda.grid(1)
        out[i] = a[i] * 2.0

    report = gl.xray(doubles)[1, 32](np.ones(32, np.float32), np.ones(32, np.float32))
    roof = kernel_roofs(report.totals, "T4")["arithmetic"]
    assert roof == pytest.approx(gpu_spec("T4").vector["float64"])


@pytest.mark.usefixtures("nothing_here")
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: kernel_roofs("no report"), "counts no operations"),
        (lambda: ladder_explorer({"naive": None}), r"what ladder_counts\(\) returns"),
        (lambda: compare_rungs({"naive": None}), r"what ladder_counts\(\) returns"),
        (lambda: ladder_counts(200), "n is 200: give a multiple of 128"),
        (lambda: product_scheme("naive"), "shared tile"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=sentence):
        call()


def test_the_explorer_follows_its_controls(counts):
    explorer = ladder_explorer(counts)
    explorer.controls["gpu"].value = "H200"
    assert "the three roofs of the H200" in explorer.picture.value
    explorer.controls["measure"].value = "sectors per load"
    assert "naive 16.5, coalesced 2.5, shared tile 4" in explorer.picture.value
    assert explorer.faults.outputs == ()


@pytest.mark.parametrize("rung", ["shared tile", "register tile"])
def test_the_schemes_say_what_they_show(rung):
    picture = product_scheme(rung)
    assert picture.png.startswith(b"\x89PNG")
    assert len(picture.alt.split()) > 20

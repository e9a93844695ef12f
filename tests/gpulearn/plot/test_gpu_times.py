"""Every figure and table with a GPU's times: recorded with its label, or the model alone."""

import re
from dataclasses import replace

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.kernels.transpose import transpose_naive, transpose_padded, transpose_whole
from gpulearn.perf import recordings
from gpulearn.perf.gpus import GPUS, gpu_spec
from gpulearn.perf.recordings import Recording
from gpulearn.perf.series import Provenance
from gpulearn.plot import gpu_times
from gpulearn.plot.recorders import training, transposes
from gpulearn.plot.recorders.loading import GpuRows, gpu_rows, sheet_of
from gpulearn_lessons.roofline import gpu_points
from gpulearn_lessons.roofline import recorded_roofline as roofline
from simt.device import driver, selection

LABEL = "recorded on NVIDIA H200, 2026-11-01"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """No GPU, and no recordings but what a test puts into the folder."""
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("cpu", "forced"))
    monkeypatch.setattr(recordings.find, "__defaults__", (tmp_path,))
    return tmp_path


@pytest.fixture
def record(folder):
    """Saves made-up rows under a name."""

    def saved(name, rows):
        made = Recording(name, "NVIDIA H200", "580.1", "2026-11-01", {}, "make gpu", rows)
        recordings.save(made, folder)

    return saved


@pytest.fixture(scope="module")
def reports():
    image = cuda.to_device(np.ones((64, 64), np.float32))
    kernels = zip(
        gpu_times.PUBLISHED, (transpose_naive, transpose_whole, transpose_padded), strict=True
    )
    return {
        name: gl.xray(kernel)[(2, 2), (32, 32)](image, cuda.to_device(np.ones((64, 64), "f4")))
        for name, kernel in kernels
    }


def stride_rows(n=2**20):
    walks = [(1, 0), (2, 0), (8, 0), (32, 0), (1, 1), (1, 8)]
    return [
        {"n": n, "stride": s, "offset": o, "useful": 8 * n, "moved": 9 * n, "seconds": s * 1e-5}
        for s, o in walks
    ]


def transpose_rows(n=transposes.SHOWN):
    return [
        {"n": n, "kernel": kernel, "useful": 8 * n * n, "seconds": 1e-4 * (1 + number)}
        for number, kernel in enumerate(transposes.KERNELS)
    ]


# --- nothing recorded: the model alone


@pytest.mark.usefixtures("folder")
def test_without_a_recording_strides_are_modeled_by_whole_sectors(figures_of):
    figures = figures_of(gpu_times)
    said = gl.plot.strides().alt
    assert "the T4's data sheet, 320 at stride 1, 213 at stride 2, 71 at stride 8, 71 at" in said
    assert "284 shifted by 1" in said  # 5 sectors for 4
    assert "recorded" not in said
    (line,) = figures[0].axes[1].lines
    rates = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert rates[8] == rates[16] > rates[9] == rates[15] == rates[1]


@pytest.mark.usefixtures("folder")
def test_without_a_recording_tables_are_modeled_or_published(reports):
    shown = gl.plot.compare_transposes(reports)
    assert shown.headings == ("kernel", "K20c, published", "T4, modeled")
    assert [row[1] for row in shown.rows] == ["55", "98", "144"]
    assert [row[2] for row in shown.rows] == ["71.1", "320", "320"]  # 8 of 36 sectors, and all
    assert shown.caption.endswith("no launch, no banks.")
    shown = gl.plot.sum_times()  # by the times, the rates are those published beside them
    rates = [float(row[2]) for row in shown.rows]
    assert rates == pytest.approx([86.4, 2.083, 4.854, 9.741, 62.671], rel=2e-3)
    assert shown.rows[1][:2] == ("interleaved", "8.05 ms")
    assert shown.caption.startswith("No GPU here, and no times recorded. Floor: 16 MiB at 86.4")
    shown = gl.plot.compare_precisions()
    assert shown.headings == ("precision", "H200: TFLOP/s")
    assert dict(shown.rows)["bfloat16"] == f"{gpu_spec('H200').peak['bfloat16'] / 1e12:,.0f}"
    assert "no times recorded" in shown.caption


# --- recorded: the numbers and their label


def test_recorded_strides_stand_beside_the_model_of_that_gpu(record):
    record("strides", stride_rows())
    said = gl.plot.strides().alt
    assert "the H200's data sheet, 4,800 at stride 1" in said
    assert f"{LABEL}, 839 at stride 1, 419 at stride 2, 105 at stride 8, 26 at stride 32" in said


def test_recorded_transposes_get_a_column(record, reports):
    record("transposes", transpose_rows(64))  # a size that is not shown
    assert len(gl.plot.compare_transposes(reports).headings) == 3
    record("transposes", [*transpose_rows(64), *transpose_rows()])
    shown = gl.plot.compare_transposes(reports)
    assert shown.headings[3:] == ("H200, modeled", "H200, recorded")
    assert shown.rows[0][3:] == ("1,067", "671")  # 8 of 36 sectors; 8 · 4096² bytes in 0.2 ms
    assert shown.rows[1][3] == "4,800"
    assert f"R{LABEL[1:]}, 4096 × 4096; a plain copy there: 1,342." in shown.caption


def test_a_kernel_that_the_gpu_refused_has_a_dash(record, reports):
    rows = transpose_rows()
    refused = [r if r["kernel"] != "tile 32 × 32" else {**r, "error": "x"} for r in rows]
    for row in refused:
        if "error" in row:
            del row["seconds"]
    record("transposes", refused)
    assert [row[4] for row in gl.plot.compare_transposes(reports).rows] == ["671", "–", "268"]


def test_recorded_sums_stand_under_the_floor(record):
    rows = [{"kernel": name, "bytes": 2**27, "seconds": 1e-3} for name in ("packed", "shuffle")]
    record("reductions", rows)
    shown = gl.plot.sum_times()
    assert shown.rows[0] == ("floor: memory alone", "28 µs", "4,800")
    assert shown.rows[1:] == (("packed", "1 ms", "134"), ("shuffle", "1 ms", "134"))
    assert shown.caption == (
        f"Floor: 128 MiB, modeled by the H200's data sheet. The others: {LABEL}."
    )


def test_a_gpu_without_a_data_sheet_has_no_floor(monkeypatch):
    rows = [{"kernel": "shuffle", "bytes": 2e9, "seconds": 1e-2}]
    found = GpuRows(rows, Provenance("measured", "NVIDIA GeForce FX 5200"))
    monkeypatch.setattr(gpu_times, "gpu_rows", lambda *how: found)
    shown = gl.plot.sum_times()
    assert shown.rows == (("shuffle", "10 ms", "200"),)
    assert shown.caption == "Times: measured here on NVIDIA GeForce FX 5200."


def training_rows(precisions=training.PRECISIONS):
    return [
        {"network": network, "precision": precision, "batch": batch, "seconds": 1e-3 * (1 + number)}
        for network in ("LeNet", "MLP")
        for number, precision in enumerate(precisions)
        for batch in (4, 16, 64, 1024)
    ]


def test_recorded_training_has_a_column_for_each_network(record):
    record("training", training_rows())
    shown = gl.plot.compare_precisions()
    assert shown.headings == ("precision", "H200: TFLOP/s", "LeNet", "MLP")
    assert shown.rows[0][2:] == ("1,024,000", "1,024,000")
    assert shown.rows[3][2] == "256,000"
    assert f"at a batch of 1,024: {LABEL}." in shown.caption
    record("training", training_rows(("float32", "float16")))  # the GPU has no units for others
    assert gl.plot.compare_precisions().rows[1][2:] == ("–", "–")


def test_a_recorded_roof_and_its_points_are_labeled(record):
    assert gpu_points() == (gl.roof("T4"), [])
    record("roofline", [{"work": "peak", "rate": 5e13}])  # without its bandwidth
    assert gpu_points() == (gl.roof("T4"), [])
    rows = [{"work": "peak", "rate": 5e13}, {"work": "bandwidth", "rate": 4e12}]
    work = {"work": "update", "n": 8192, "flops": 2e6, "bytes": 12e6, "seconds": 4e-6}
    record("roofline", [*rows, work, {"work": "softmax", "n": 8192, "error": "x"}])
    best, points = gpu_points()
    assert (best.peak, best.bandwidth) == (5e13, 4e12)
    assert [point.name for point in points] == ["update"]
    assert points[0].share(best) == pytest.approx(0.75)
    assert str(best).endswith("(recorded 2026-11-01)")
    assert best.name == "NVIDIA H200"
    table = gl.plot.compare_points(best, *points)
    assert f"Times: {LABEL}. Roof: NVIDIA H200, recorded 2026-11-01." == table.caption
    assert "update at 0.167 reaches 500 of 667 GFLOP/s" in gl.plot.roofline(best, points=points).alt


# --- live


def test_a_gpu_that_is_here_comes_before_a_recording(monkeypatch, record):
    record("strides", stride_rows())
    here = driver.Gpu("Tesla T4", 2**34, (7, 5), "12.4")
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("gpu", "forced", (here,)))
    live = Recording("strides", "Tesla T4", "1", "2026-11-02", {}, "make gpu", [{"seconds": 1.0}])
    found = gpu_rows("strides", lambda: replace(live, rows=[*live.rows, {"error": "x"}]))
    assert found.provenance == Provenance("measured", "Tesla T4")
    assert found.rows == [{"seconds": 1.0}]


def test_a_gpu_without_a_data_sheet_has_its_own_column_alone(monkeypatch, reports):
    found = GpuRows(transpose_rows(), Provenance("measured", "GeForce FX 5200"))
    monkeypatch.setattr(gpu_times, "gpu_rows", lambda *how: found)
    shown = gl.plot.compare_transposes(reports)
    assert shown.headings[3:] == ("GeForce FX 5200, measured",)
    assert "Measured here on GeForce FX 5200, 4096 × 4096" in shown.caption


def test_a_live_figure_says_so(monkeypatch):
    rows = GpuRows(stride_rows(), Provenance("measured", "Tesla T4"))
    monkeypatch.setattr(gpu_times, "gpu_rows", lambda *how: rows)
    said = gl.plot.strides().alt
    assert "measured here on Tesla T4" in said
    assert "the T4's data sheet" in said
    unknown = replace(rows, provenance=Provenance("measured", "NVIDIA GeForce FX 5200"))
    monkeypatch.setattr(gpu_times, "gpu_rows", lambda *how: unknown)
    assert "modeled" not in gl.plot.strides().alt  # by no other GPU's data sheet


@pytest.mark.parametrize("name", GPUS)
def test_every_data_sheet_is_found_by_its_own_name(name):
    assert sheet_of(f"NVIDIA {name}") == name


@pytest.mark.parametrize("name", ["NVIDIA L4000S", "GeForce FX 5200", "NVIDIA H200X", ""])
def test_no_data_sheet_is_taken_for_another(name):
    assert sheet_of(name) is None


# --- nonsense


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gl.plot.compare_transposes({}), r"reports is {}: give"),
        (lambda: gl.plot.compare_transposes({"strait": None}), "did you mean 'straight'"),
        (lambda: roofline.gpu_rows("x", lambda: None, lambda: "cpu") or gl.roof("x"), "no GPU"),
    ],
)
def test_nonsense_is_refused(folder, call, sentence):
    with pytest.raises(BadInput, match=sentence):
        call()


def test_the_published_rates_are_those_that_notebook_05_discusses():
    from tests.notebooks.harness import NOTEBOOKS

    text = (NOTEBOOKS / "05_shared_memory_and_barriers.ipynb").read_text(encoding="utf-8")
    assert "Tesla K20c" in text
    factors = [float(f) for f in re.findall(r"factor of (1\.\d)|another (1\.\d)", text)[0] if f]
    assert factors[0] == pytest.approx(97.6 / 55.3, abs=0.05)

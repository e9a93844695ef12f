"""Where a product's time comes from: live before recorded before modeled, always labeled."""

import pytest
import torch

from gpulearn.errors import BadInput
from gpulearn.perf import matmul_times, recordings
from gpulearn.perf.matmul_times import cpu_times, gpu_times, live_times
from gpulearn.perf.recordings import Recording
from gpulearn.perf.roofline import matmul_seconds
from gpulearn.perf.series import Provenance, Series
from simt.device import selection
from simt.device.driver import Gpu
from tools.record.products import SIZES as RECORDED

SIZES = [8, 16]
T4 = Gpu("Tesla T4", 2**34, (7, 5), "12.4")
H200 = Gpu("NVIDIA H200", 2**37, (9, 0), "13.0")


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    """No GPU, and no recordings but what a test puts into the folder."""
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("cpu", "forced"))
    monkeypatch.setattr(recordings.find, "__defaults__", (tmp_path,))
    return tmp_path


@pytest.mark.parametrize("how", matmul_times.CONTENDERS)
def test_cpu_times_are_measured(how):
    found = cpu_times(SIZES, how, seconds=0.01)
    assert found.sizes == (8, 16)
    assert all(s > 0 for s in found.seconds)
    assert found.provenance.kind == "measured"
    assert found.name == f"{how}, float32"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_torch_takes_every_dtype(dtype):
    assert live_times([8], dtype, on="cpu", seconds=0.01).seconds[0] > 0


@pytest.mark.parametrize("tf32", [True, False])
def test_tf32_is_set_and_reset(tf32):
    before = torch.get_float32_matmul_precision()
    with matmul_times.float32_products(torch, tf32):
        assert torch.get_float32_matmul_precision() == ("high" if tf32 else "highest")
    assert torch.get_float32_matmul_precision() == before


def test_matrices_are_random():
    """Zeros make a GPU clock higher than it can for real numbers."""
    a = matmul_times.random_matrix(64, 1)
    assert a.dtype == "float32"
    assert abs(a.mean()) < 0.1
    assert a.std() == pytest.approx(1, abs=0.1)


def test_one_disturbed_size_labels_the_series(monkeypatch):
    busy = iter([False, True, False, False])

    def fastest(function, seconds):
        return 1.0, Provenance("measured", "here", busy=next(busy))

    monkeypatch.setattr("gpulearn.perf.timing.fastest", fastest)
    monkeypatch.setattr(matmul_times, "one_thread_and_all", lambda on: iter((1, 4)))
    assert cpu_times(SIZES, "numpy").provenance.busy


@pytest.mark.parametrize("how", ["numpy", "torch"])
def test_the_fastest_run_of_all_rounds_counts(monkeypatch, how):
    """A size that one round shows late, with one thread or with all, is not late in the series."""
    taken = iter([3.0, 40.0, 50.0, 4.0])
    monkeypatch.setattr(
        "gpulearn.perf.timing.fastest",
        lambda function, seconds: (next(taken), Provenance("measured", "here")),
    )
    monkeypatch.setattr(matmul_times, "one_thread_and_all", lambda on: iter((1, 4)))
    assert cpu_times(SIZES, how).seconds == (3.0, 4.0)


def test_copies_go_there_and_back(monkeypatch):
    """With the GPU's copies replaced by the CPU's: what moves, and that the product is right."""
    moved, results = [], []

    def timed(name, sizes, prepare, *how):
        multiply = prepare(8)
        results.append(multiply())
        return Series("", (8,), (1.0,), Provenance("measured", ""))

    to = torch.Tensor.to
    monkeypatch.setattr(
        torch.Tensor,
        "to",
        lambda x, on: (on == "cuda" and moved.append(x)) or to(x, "cpu" if on == "cuda" else on),
    )
    monkeypatch.setattr(matmul_times, "_timed", timed)
    a, b = (torch.from_numpy(matmul_times.random_matrix(8, seed)) for seed in (1, 2))
    for copies in (False, True):
        moved.clear()
        live_times([8], copies=copies)
        assert len(moved) == 2
        torch.testing.assert_close(results[-1], a @ b)


def test_modeled_where_nothing_else_is_known(no_gpu):
    found = gpu_times(SIZES, copies=True)
    assert str(found.provenance) == "modeled by the T4's roofline"
    assert found.seconds[0] == matmul_seconds(8, "T4", copies=True)


def test_recorded_before_modeled_with_copies_and_without(no_gpu):
    rows = [
        {"n": n, "dtype": "float32", "copies": copies, "seconds": n * each}
        for n in (8, 16, 32)
        for copies, each in ((False, 1e-6), (True, 3e-6))
        if n == 8 or not copies
    ]
    made = Recording("matmul", "NVIDIA H200", "580.0", "2026-11-01", {}, "make gpu", rows)
    recordings.save(made, no_gpu)
    found = gpu_times(SIZES)
    assert found.seconds == (8e-6, 16e-6)
    assert str(found.provenance) == "recorded on NVIDIA H200, 2026-11-01"
    assert gpu_times(SIZES, copies=True).provenance.kind == "modeled"  # not recorded
    assert gpu_times([8, 64]).provenance.kind == "modeled"  # a size is missing
    plain, copied = gpu_times([8]), gpu_times([8], copies=True)
    assert copied.seconds[0] == pytest.approx(24e-6)
    assert (plain.name, copied.name) == ("GPU, float32", "GPU, float32, with copies")


def test_live_before_recorded(no_gpu, monkeypatch):
    asked = []
    monkeypatch.setattr(
        selection, "current", lambda: selection.Selection("cpu", "numba fails", (H200,))
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(matmul_times, "live_times", lambda *a, **k: asked.append((a, k)))
    gpu_times(SIZES, "bfloat16", copies=True)
    assert asked[0][0] == ((8, 16), "bfloat16", True)


def test_a_gpu_that_torch_cannot_use_is_not_live(no_gpu, monkeypatch):
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("gpu", "forced", (H200,)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_times(SIZES).provenance.kind == "modeled"


def test_a_gpu_without_tensor_cores_for_it_is_not_live(no_gpu, monkeypatch):
    monkeypatch.setattr(selection, "current", lambda: selection.Selection("gpu", "forced", (T4,)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (
        str(gpu_times(SIZES, "tf32", model="H200").provenance) == "modeled by the H200's roofline"
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cpu_times([0]), "an entry of sizes is 0"),
        (lambda: cpu_times([]), r"sizes is \[\]: give at least one"),
        (lambda: cpu_times([8], dtype="tf32"), "no dtype for torch on cpu 'tf32'"),
        (lambda: cpu_times(64), "sizes is 64: give a list"),
        (lambda: cpu_times([8], seconds="x"), "seconds is 'x'"),
        (lambda: cpu_times([8], how="numppy"), "did you mean 'numpy'"),
        (lambda: cpu_times([8], how="numpy", dtype="bfloat16"), "no dtype for numpy 'bfloat16'"),
        (lambda: gpu_times([-1]), "an entry of sizes is -1"),
        (lambda: gpu_times([8], dtype="float23"), "no dtype 'float23': did you mean 'float32'"),
        (lambda: gpu_times([8], model="T5"), "no GPU 'T5'"),
        (lambda: gpu_times([8], model="T4", dtype="tf32"), "The T4 has no tf32 arithmetic"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=sentence):
        call()


def test_record_has_the_sizes_that_notebook_01_shows():
    assert {16, 32, 64, 128, 256, 512, 1024, 2048} <= set(RECORDED)

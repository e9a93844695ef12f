"""Where a product's time comes from: live before recorded before modelled, always labelled."""

import pytest
import torch

from gpulearn import device, record, recordings
from gpulearn.errors import BadInput
from gpulearn.kernels import matmul_times
from gpulearn.kernels.matmul_times import cpu_times, gpu_times, live_times
from gpulearn.recordings import Recording
from gpulearn.roofline import matmul_seconds

SIZES = [8, 16]


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    """No GPU, and no recordings but what a test puts into the folder."""
    monkeypatch.setattr(device, "current", lambda: device.Device("cpu", "forced"))
    monkeypatch.setattr(recordings.find, "__defaults__", (tmp_path,))
    return tmp_path


def a_recording(rows):
    return Recording("matmul", "NVIDIA H200", "2026-11-01", {}, "make record", rows)


@pytest.mark.parametrize("how", matmul_times.CONTENDERS)
def test_cpu_times_are_measured(how):
    found = cpu_times(SIZES, how, seconds=0.01)
    assert found.sizes == (8, 16)
    assert all(s > 0 for s in found.seconds)
    assert found.provenance.kind == "measured"
    assert found.name == f"{how}, float32"


def test_no_sizes_are_refused():
    with pytest.raises(BadInput, match=r"sizes is \[\]: give at least one"):
        cpu_times([])


def test_loops_are_slower_than_numpy():
    loops, numpy = (cpu_times([48], how, seconds=0.05) for how in ("loops", "numpy"))
    assert loops.seconds[0] > 20 * numpy.seconds[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "tf32", "bfloat16"])
def test_torch_takes_every_dtype(dtype):
    assert live_times([8], dtype, on="cpu", seconds=0.01).seconds[0] > 0


def test_tf32_is_set_and_reset(monkeypatch):
    before = torch.get_float32_matmul_precision()
    seen = []
    monkeypatch.setattr(
        matmul_times,
        "_timed",
        lambda *a: (
            seen.append(torch.get_float32_matmul_precision())
            or matmul_times.Series("", (8,), (1.0,), matmul_times.Provenance("measured", ""))
        ),
    )
    live_times([8], "tf32", on="cpu")
    live_times([8], "float32", on="cpu")
    assert seen == ["high", "highest"]
    assert torch.get_float32_matmul_precision() == before


def test_modelled_where_nothing_else_is_known(no_gpu):
    found = gpu_times(SIZES, copies=True)
    assert str(found.provenance) == "modelled by the T4's roofline"
    assert found.seconds[0] == matmul_seconds(8, 8, 8, gpu="T4", copies=True)


def test_recorded_before_modelled(no_gpu):
    rows = [
        {"n": n, "dtype": "float32", "copies": "none", "seconds": n * 1e-6} for n in (8, 16, 32)
    ]
    recordings.save(a_recording(rows), no_gpu)
    found = gpu_times(SIZES)
    assert found.seconds == (8e-6, 16e-6)
    assert str(found.provenance) == "recorded on NVIDIA H200, 2026-11-01"
    assert gpu_times(SIZES, copies=True).provenance.kind == "modelled"  # not recorded
    assert gpu_times([8, 64]).provenance.kind == "modelled"  # a size is missing


def test_live_before_recorded(no_gpu, monkeypatch):
    asked = []
    monkeypatch.setattr(device, "current", lambda: device.Device("gpu", "forced"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(matmul_times, "live_times", lambda *a, **k: asked.append((a, k)))
    gpu_times(SIZES, "bfloat16", copies=True)
    assert asked[0][0] == ((8, 16), "bfloat16")
    assert asked[0][1]["copies"] == "pageable"


def test_a_gpu_that_torch_cannot_use_is_not_live(no_gpu, monkeypatch):
    monkeypatch.setattr(device, "current", lambda: device.Device("gpu", "forced"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_times(SIZES).provenance.kind == "modelled"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cpu_times([0]), "an entry of sizes is 0"),
        (lambda: cpu_times(64), "sizes is 64: give a list"),
        (lambda: cpu_times([8], seconds="x"), "seconds is 'x'"),
        (lambda: cpu_times([8], how="numppy"), "did you mean 'numpy'"),
        (lambda: cpu_times([8], how="numpy", dtype="bfloat16"), "no dtype for numpy 'bfloat16'"),
        (lambda: gpu_times([-1]), "an entry of sizes is -1"),
        (lambda: gpu_times([8], dtype="float23"), "no dtype 'float23': did you mean 'float32'"),
        (lambda: gpu_times([8], model="T5"), "no GPU 'T5'"),
        (lambda: gpu_times([8], model="T4", dtype="tf32"), "The T4 has no tf32 arithmetic"),
        (lambda: live_times([8], copies="pined", on="cpu"), "did you mean 'pinned'"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=sentence):
        call()


def test_record_writes_what_load_reads(tmp_path):
    found = record.record_matmul([8, 16], ["float32", "bfloat16"], on="cpu")
    path = recordings.save(found, tmp_path)
    again = recordings.load(path)
    assert again == found
    assert again.device == device.cpu_name()
    assert {(r["n"], r["dtype"], r["copies"]) for r in again.rows} == {
        (n, d, "none") for n in (8, 16) for d in ("float32", "bfloat16")
    }
    assert "torch" in again.versions


def test_record_needs_a_gpu(no_gpu, capsys):
    assert record.main(["--folder", str(no_gpu)]) == 1
    assert capsys.readouterr().out == "make record needs a GPU that torch can use: forced.\n"


def test_record_has_the_sizes_that_notebook_01_shows():
    assert {16, 32, 64, 128, 256, 512, 1024, 2048} <= set(record.SIZES)

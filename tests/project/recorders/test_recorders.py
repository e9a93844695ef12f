"""Each recording, rehearsed on the CPU with tiny sizes: it measures, saves, loads, is right."""

import warnings

import numpy as np
import pytest

from gpulearn.perf import recordings, timing
from gpulearn.perf.recorders import histograms, measuring, reductions, strides, training, transposes
from gpulearn.perf.recorders.measuring import WrongResultError, agree
from gpulearn.train.models import MLP
from gpulearn_lessons.roofline import recorded_roofline as roofline
from tools.gpu.recording import matmul
from tools.gpu.recording.record import families

TINY = {
    "matmul": lambda: matmul.record_matmul((8, 16), ("float64", "float32", "bfloat16"), on="cpu"),
    "roofline": lambda: roofline.record_roofline(32, (1, 16), 1024, (32,), seconds=0.005),
    "strides": lambda: strides.record_strides(256, (1, 3, 32), (0, 1, 8), repeated=100),
    "transposes": lambda: transposes.record_transposes((32, 64)),
    "histograms": lambda: histograms.record_histograms(512, repeated=256),
    "reductions": lambda: reductions.record_reductions(2**14),
    "training": lambda: training.record_training(
        (4, 8), models={"MLP": lambda: MLP((64, 16, 10), seed=0)}
    ),
}


@pytest.fixture(scope="module")
def made():
    """What every recorder measures here; the clocks are quick, the work and checks are real."""
    quick = pytest.MonkeyPatch()
    quick.setattr(measuring, "BLOCKS", 1)
    quick.setattr(measuring, "_block", lambda call, many: (call(), 1e-3)[1])
    quick.setattr(timing, "_host_times", lambda call, seconds, torch: [(call(), 2e-6)[1]] * 3)
    try:
        return {name: tiny() for name, tiny in TINY.items()}
    finally:
        quick.undo()


def test_every_recorder_is_found_and_rehearsed():
    assert sorted(TINY) == families()


@pytest.mark.parametrize("name", TINY)
def test_a_recording_is_saved_and_loaded(made, name, tmp_path):
    found = made[name]
    assert found.name == name
    assert [row for row in found.rows if "error" in row] == []
    recordings.save(found, tmp_path)
    assert recordings.find(name, tmp_path) == found


def test_every_size_kind_and_way_has_its_row(made):
    def column(name, *keys):
        return [tuple(row[key] for key in keys) for row in made[name].rows if "seconds" in row]

    assert column("strides", "stride", "offset") == [(1, 0), (3, 0), (32, 0), (1, 1), (1, 8)]
    assert set(column("transposes", "n", "kernel")) == {
        (n, kernel) for n in (32, 64) for kernel in transposes.KERNELS
    }
    assert set(column("histograms", "kernel", "data")) == {
        (kernel, data)
        for kernel in histograms.KERNELS
        for data in ("random", "skewed", "all equal")
    }
    assert set(column("training", "precision", "batch")) == {
        (precision, batch) for precision in training.PRECISIONS for batch in (4, 8)
    }
    assert len(column("reductions", "kernel")) == 8
    assert [work for (work,) in column("roofline", "work")][:2] == ["update", "softmax"]


def test_the_bytes_of_a_stride_are_those_that_the_machine_counts():
    import gpulearn as gl
    from gpulearn import cuda
    from gpulearn.kernels.copies import copy_strided

    source = cuda.to_device(np.ones(32 * 32 + 32, np.float32))
    target = cuda.to_device(np.zeros(32, np.float32))
    for stride, offset in (
        (1, 0),
        (1, 1),
        (1, 8),
        (3, 0),
        (5, 0),
        (7, 0),
        (8, 0),
        (12, 0),
        (32, 0),
    ):
        report = gl.xray(copy_strided)[1, 32](source[offset:], target, stride)
        assert strides.sectors(stride, offset) == report.totals.global_load_sectors


def test_the_racy_histogram_says_how_many_updates_arrived(made):
    for row in made["histograms"].rows:
        assert (row["counted"] == 1) == (row["kernel"] != "racy") or row["data"] != "all equal"
        assert 0 < row["counted"] <= 1


class Idle:
    """A kernel that does nothing."""

    def __getitem__(self, launch):
        return lambda *arguments: None


@pytest.mark.parametrize(
    ("module", "name", "broken", "record"),
    [
        (strides, "copy_strided", Idle(), "strides"),
        (transposes, "KERNELS", {"straight": Idle()}, "transposes"),
        (histograms, "KERNELS", {"atomics": (Idle(), None)}, "histograms"),
        (histograms, "KERNELS", {"racy": (Idle(), None)}, "histograms"),
        (reductions, "TREES", {"packed": Idle()}, "reductions"),
        (reductions, "grid_sum_atomic", Idle(), "reductions"),
        (matmul, "prepared_product", lambda a, *rest: lambda: matmul_of_zeros(a), "matmul"),
        (training, "BOUNDS", dict.fromkeys(training.PRECISIONS, 0.0), "training"),
        (roofline, "TOLERANCE", 0.0, "roofline"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_result_is_a_row_without_a_time(monkeypatch, module, name, broken, record):
    monkeypatch.setattr(module, name, broken)
    monkeypatch.setattr(measuring, "_block", lambda call, many: 1e-3)
    monkeypatch.setattr(timing, "_host_times", lambda call, seconds, torch: [1e-6] * 3)
    wrong = [row for row in TINY[record]().rows if "WrongResultError" in row.get("error", "")]
    assert wrong
    assert not any("seconds" in row for row in wrong)


def matmul_of_zeros(a):
    import torch

    return torch.zeros(len(a), len(a))


def test_what_the_machine_refuses_is_a_row_without_a_time():
    def refuse():
        raise MemoryError("too much\nof it")

    row = measuring.timed({"n": 8}, refuse)
    assert row == {"n": 8, "error": "MemoryError: too much"}


def test_a_small_launch_is_no_cause_for_a_warning():
    def prepare():
        warnings.warn("Grid size 1 will likely result in under-utilization", stacklevel=1)
        return lambda: None

    assert "error" not in measuring.timed({}, prepare, lambda call: 1.0)


def test_a_block_of_calls_is_timed_by_the_call(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing, "now", lambda: now[0])
    calls = []

    def call():
        calls.append(1)
        now[0] += 2e-3

    assert measuring.host_seconds(call) == pytest.approx(2e-3)
    assert len(calls) == 1 + 1 + 5 * 3  # wakes up, is looked at, five blocks of at least 5 ms


@pytest.mark.parametrize("tolerance", [0.0, 1e-3])
def test_a_nan_agrees_with_nothing(tolerance):
    with pytest.raises(WrongResultError, match="wrong in 1 of 2 elements, first in"):
        agree("x", np.array([1.0, np.nan]), np.array([1.0, 2.0]), tolerance)
    agree("x", np.array([1.0, 2.0]), np.array([1.0, 2.0]), tolerance)


def test_a_product_too_long_spares_the_larger_ones(monkeypatch):
    monkeypatch.setattr(matmul, "host_seconds", lambda call: (call(), 0.2)[1])
    found = matmul.record_matmul((8, 16), ("float32",), on="cpu")
    assert [row["n"] for row in found.rows] == [8]

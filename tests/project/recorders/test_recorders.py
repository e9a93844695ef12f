"""Each recording, on the CPU with the tiny sizes of a rehearsal: it measures, and checks first."""

import importlib
import warnings

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.kernels.copies import copy_strided
from gpulearn.perf import recordings, timing
from gpulearn.plot.recorders import measuring, reductions, strides, training
from gpulearn.plot.recorders import transposes as transposing
from gpulearn.plot.recorders.measuring import WrongResultError, agree
from gpulearn.train.models import MLP
from gpulearn_lessons.roofline import recorded_roofline as roofline
from tools.record.__main__ import STEPS

RECORDINGS = [name for name in STEPS if name not in ("tests", "counters", "ladder")]


def measured(name):
    """What a step of a rehearsal measures; the clock is quick, the work and checks are real."""
    step = STEPS[name]
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr(training, "networks", lambda: {"MLP": lambda: MLP((64, 16, 10), seed=0)})
        quick.setattr(timing, "_host_times", lambda call, seconds, torch: [(call(), 2e-6)[1]] * 3)
        return getattr(importlib.import_module(step.module), f"record_{name}")(**step.tiny)


@pytest.fixture(scope="module")
def made():
    return {name: measured(name) for name in RECORDINGS}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_saved_and_loaded(made, name, tmp_path):
    assert [row for row in made[name].rows if "error" in row] == []
    recordings.save(made[name], tmp_path)
    assert recordings.find(name, tmp_path) == made[name]


def test_every_size_kind_and_way_has_its_row(made):
    def column(name, *keys):
        return [tuple(row[key] for key in keys) for row in made[name].rows if "seconds" in row]

    walks = [(s, 0) for s in strides.STRIDES] + [(1, o) for o in strides.OFFSETS if o]
    assert column("strides", "stride", "offset") == walks
    assert column("transposes", "n", "kernel") == [(32, name) for name in transposing.KERNELS]
    assert column("training", "precision", "batch") == [("float32", 4), ("bfloat16", 4)]
    assert column("matmul", "n", "dtype", "copies") == [
        (16, "float32", False), (16, "bfloat16", False),
    ]  # fmt: skip
    assert len(column("reductions", "kernel")) == 8
    assert [work for (work,) in column("roofline", "work")][:2] == ["update", "softmax"]


def test_the_bytes_of_a_stride_are_those_that_the_machine_counts():
    source = cuda.to_device(np.ones(32 * 32 + 32, np.float32))
    target = cuda.to_device(np.zeros(32, np.float32))
    for stride, offset in ((1, 0), (1, 1), (1, 8), (3, 0), (5, 0), (8, 0), (12, 0), (32, 0)):
        report = gl.xray(copy_strided)[1, 32](source[offset:], target, stride)
        assert gl.plot.access(stride, offset).sectors == report.totals.global_load_sectors


class Idle:
    """A kernel that does nothing."""

    def __getitem__(self, launch):
        return lambda *arguments: None


@pytest.mark.parametrize(
    ("module", "name", "broken", "record"),
    [
        (strides, "copy_strided", Idle(), "strides"),
        (transposing, "KERNELS", {"straight": Idle()}, "transposes"),
        (reductions, "TREES", {"packed": Idle()}, "reductions"),
        (reductions, "grid_sum_atomic", Idle(), "reductions"),
        (training, "BOUNDS", dict.fromkeys(training.PRECISIONS, 0.0), "training"),
        (roofline, "TOLERANCE", 0.0, "roofline"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_result_is_a_row_without_a_time(monkeypatch, module, name, broken, record):
    monkeypatch.setattr(module, name, broken)
    wrong = [row for row in measured(record).rows if "WrongResultError" in row.get("error", "")]
    assert wrong
    assert not any("seconds" in row for row in wrong)


def test_a_small_launch_is_no_cause_for_a_warning():
    def prepare():
        warnings.warn("Grid size 1 will likely result in under-utilization", stacklevel=1)
        return lambda: None

    assert "error" not in measuring.timed({}, prepare, lambda call: 1.0)


WANTED = np.array([2.0, -4.0, 6.0])
ODD = np.array([np.nan, np.inf, 1.0])


@pytest.mark.parametrize(
    ("result", "wanted", "tolerance", "fault"),
    [
        ([2.0, -4.0, 6.0], WANTED, 0.0, ""),
        ([2.0, -4.0, np.nextafter(6.0, 7)], WANTED, 0.0, "in 1 of 3 elements"),
        ([2**60 + 1, 1], np.array([2**60, 1]), 0.0, "in 1 of 2"),  # equal as float64
        ([2.0, -4.0, 6.0 + 5e-6], WANTED, 1e-6, ""),
        ([2.0, -4.0, 6.0 + 7e-6], WANTED, 1e-6, r"in 1 of 3 elements, first in \(2,\)"),
        ([2.0, np.nan, 6.0], WANTED, 1e-6, "first in .1,.: nan where NumPy says -4.0"),
        ([np.inf, -np.inf, 6.0], WANTED, 1e-6, "in 2 of 3"),
        ([np.nan, np.inf, 1.0], ODD, 1e-6, ""),
        ([1.0, np.inf, 1.0], ODD, 1e-6, "in 1 of 3"),
        ([np.nan, -np.inf, 1.0], ODD, 1e-6, "in 1 of 3"),
        ([np.nan, 9e9, 1.0], ODD, 1e-6, "in 1 of 3"),
    ],
)
def test_what_is_further_off_than_the_tolerance_is_wrong(result, wanted, tolerance, fault):
    if not fault:
        agree("x", np.array(result), wanted, tolerance)
    else:
        with pytest.raises(WrongResultError, match=fault):
            agree("x", np.array(result), wanted, tolerance)


def test_another_shape_is_refused_and_words_are_compared_as_their_numbers():
    with pytest.raises(BadInput, match="shape"):
        agree("x", WANTED[:2], WANTED)
    pairs = np.arange(6, dtype=np.float32).reshape(1, 6)
    agree("x", pairs.view(np.int64), pairs)
    with pytest.raises(WrongResultError, match=r"first in \(0, 3\)"):
        agree("x", pairs.view(np.int64), np.where(pairs == 3, 7, pairs))

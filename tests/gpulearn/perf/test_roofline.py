"""The roofline's formulas by hand, and the data sheets."""

import re

import pytest

from gpulearn.errors import BadInput
from gpulearn.perf import measured_roof
from gpulearn.perf.gpus import GPUS, Price, gpu_spec
from gpulearn.perf.roofline import Roof, arithmetic_intensity, attainable, ridge_point, roof
from gpulearn.perf.series import Provenance

HERE = Provenance("measured", "here")
PAPER = Roof("a machine on paper", peak=1000.0, bandwidth=50.0, provenance=HERE)


def test_a_roof_turns_work_into_seconds_and_a_limit():
    assert PAPER.ridge == 20.0
    assert PAPER.attainable(4.0) == 200.0
    assert (PAPER.seconds(100.0, 50.0), PAPER.limit(100.0, 50.0)) == (1.0, "memory")
    assert (PAPER.seconds(5000.0, 50.0), PAPER.limit(5000.0, 50.0)) == (5.0, "arithmetic")
    assert str(PAPER) == (
        "a machine on paper: 1e-06 GFLOP/s, 5e-08 GB/s, ridge at 20 FLOP per byte (measured here)"
    )


def test_roofs_of_data_sheets():
    assert roof("T4").ridge == pytest.approx(8.1e12 / 320e9)
    assert roof("A100 80GB", "bfloat16").peak == 312e12
    assert roof("H200", "float64").peak == 67e12  # tensor cores
    assert roof("H200", "float64", units="vector").peak == 34e12  # a kernel of our own
    assert roof("H100").name == "H100"
    assert str(roof("H100", "tf32").provenance) == "modeled by the H100's data sheet"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ridge_point(0, 1), "peak is 0: give a number above zero"),
        (lambda: ridge_point(1, -1), "bandwidth is -1"),
        (lambda: attainable(float("nan"), 1, 1), "intensity is nan"),
        (lambda: arithmetic_intensity(1, 0), "bytes_moved is 0"),
        (lambda: arithmetic_intensity(-1, 1), "flops is -1"),
        (lambda: arithmetic_intensity("8", 1), "flops is '8'"),
        (lambda: roof("T5"), "There is no GPU 'T5'"),
        (lambda: roof("T4", "tf32"), "The T4 has no tf32 arithmetic: choose from float32"),
        (lambda: roof("T4", ["tf32"]), "The T4 has no ['tf32'] arithmetic"),
        (lambda: measured_roof.roof_point("work", 3, 1, 1), "function is 3: give what can be call"),
        (lambda: roof("H100", "bfloat16", units="vector"), "The H100 has no bfloat16 arithmetic"),
        (lambda: roof("H100", units="scalar"), "There is no kind of units 'scalar'"),
    ],
)
def test_nonsense_is_refused(call, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        call()


# --- the data sheets


@pytest.mark.parametrize("spec", GPUS.values(), ids=lambda s: s.name)
def test_a_specification_is_complete_and_plausible(spec):
    assert spec.source
    assert 8e9 <= spec.memory <= 200e9
    assert 50 <= spec.power <= 1200
    assert spec.link < spec.bandwidth < 1e13
    assert spec.vector["float64"] <= spec.vector["float32"]
    assert spec.peak["float64"] >= spec.vector["float64"]
    assert spec.tensor["float16"] > spec.vector["float32"]
    if "bfloat16" in spec.tensor:
        assert spec.tensor["float16"] == spec.tensor["bfloat16"]
        assert spec.tensor["tf32"] == pytest.approx(spec.tensor["bfloat16"] / 2, rel=0.02)


@pytest.mark.parametrize("spec", GPUS.values(), ids=lambda s: s.name)
def test_a_price_is_a_dated_range_with_a_source(spec):
    if spec.price is None:
        assert "Laptop" in spec.name
        return
    assert 0 < spec.price.low <= spec.price.high < 100
    assert re.fullmatch(r"202[56]-\d\d", spec.price.when)
    assert spec.price.source


def test_a_price_reads_well():
    assert str(Price(0.5, 0.5, "2026-03", "x")) == "$0.50 an hour (2026-03)"
    assert str(Price(0.5, 1.25, "2026-03", "x")) == "$0.50–1.25 an hour (2026-03)"


def test_the_memories_of_a_gpu_stand_in_one_row():
    assert gpu_spec("T4").memories == {
        "GPU": "T4",
        "multiprocessors": "40",
        "registers of each": "256 KB",
        "L1 and shared memory of each": "96 KB",
        "L2 of all": "4 MB",
        "memory": "16 GB",
        "bandwidth of memory": "320 GB/s",
    }

"""The intensity at which the two limits meet."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import ridge_point

answers = Answers(ridge_point)

RATIO = "peak / bandwidth"


def cases() -> list[Case]:
    """GPUs by their data sheets, a laptop, and a machine whose memory outruns its arithmetic."""
    machines = [
        (f"a {name}, {dtype}", gpu_spec(name).peak[dtype], gpu_spec(name).bandwidth)
        for name, dtype in (("T4", "float32"), ("H100", "bfloat16"), ("RTX 4090", "float64"))
    ]
    machines.append(("a laptop", 3.1e11, 4.7e10))
    machines.append(("a machine with more bytes than operations a second", 2e9, 8e9))
    return [Case(label, (peak, bandwidth)) for label, peak, bandwidth in machines]


answers.edit(
    {RATIO: "bandwidth / peak"},
    "that is upside down: bytes per operation. At the ridge, peak = ridge · bandwidth.",
)
answers.edit(
    {"/": "*"}, "that multiplies; at the ridge, peak = ridge · bandwidth: solve for the ridge."
)
answers.edit(
    {RATIO: f"4 * {RATIO}"},
    "that is operations per number of 4 bytes; the axis is in operations per byte.",
)
answers.edit(
    {RATIO: "peak"},
    "that is the roof's height; asked for is where on the axis the slope reaches it.",
)
answers.edit(
    {RATIO: "(peak / 1e12) / (bandwidth / 1e9)"},
    "that takes peak in TFLOP/s and bandwidth in GB/s: a factor of 1000 is lost.",
)
answers.edit(
    {"/": "//"}, "what is behind the decimal point is dropped; give the quotient as it is."
)
answers.edit(
    {RATIO: f"max(1.0, {RATIO})"},
    "a ridge below 1 is possible, where memory outruns arithmetic: leave it as it is.",
)
answers.edit(
    {"/ bandwidth": "/ (bandwidth / 8)"},
    "that counts a byte as eight: bandwidth is in bytes already, not in bits.",
)
answers.edit(
    {"/ bandwidth": "/ (bandwidth / 2)"},
    "that halves the bandwidth; reading and writing are both in it already.",
)


@answers.right
def in_giga(peak: float, bandwidth: float) -> float:
    return (peak / 1e9) / (bandwidth / 1e9)


@answers.right
def by_search(peak: float, bandwidth: float) -> float:
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * bandwidth < peak else (low, middle)
    return high


EXERCISE = Exercise(
    task="Compute the arithmetic intensity at which memory and arithmetic limit equally.",
    reference=ridge_point,
    cases=cases,
    answers=answers,
)

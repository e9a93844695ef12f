"""The roofline itself."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import attainable

answers = Answers(attainable)

ROOF = "min(peak, intensity * bandwidth)"


def cases() -> list[Case]:
    """Work left of the ridge, on it and right of it, on machines of several kinds."""
    t4, h100 = gpu_spec("T4"), gpu_spec("H100")
    work = (
        ("an intensity of 1/6 on a T4", 1 / 6, t4.vector["float32"], t4.bandwidth),
        ("an intensity of 683 on a T4", 683.0, t4.vector["float32"], t4.bandwidth),
        ("an intensity of 20 on an H100, bfloat16", 20.0, h100.peak["bfloat16"], h100.bandwidth),
        ("an intensity on the ridge", 25.0, 8e12, 3.2e11),
        ("an intensity below 1 on a laptop", 0.625, 3.1e11, 4.7e10),
        ("an intensity above the ridge of a laptop", 40.0, 3.1e11, 4.7e10),
        ("a machine whose memory outruns its arithmetic", 0.5, 2e9, 8e9),
        ("slow arithmetic before fast memory", 2.0, 2e9, 8e9),
        ("an intensity of 0.3 on a T4, in TFLOP/s and TB/s", 0.3, 8.1, 0.32),
    )
    return [Case(label, tuple(rest)) for label, *rest in work]


answers.edit(
    {"min": "max"},
    "that is the larger of the two limits on either side of the ridge; the smaller one stops you.",
)
answers.edit(
    {ROOF: "intensity * bandwidth"},
    "that is the slope alone; from the ridge on, arithmetic is the limit.",
)
answers.edit({ROOF: "peak"}, "that is the ceiling alone; left of the ridge, memory is the limit.")
answers.edit(
    {"intensity * bandwidth": "bandwidth / intensity"},
    "bandwidth is in bytes per second: times operations per byte, not divided by them.",
)
answers.edit(
    {"intensity * ": ""},
    "that compares operations per second with bytes per second: the intensity is gone.",
)
answers.edit(
    {ROOF: "bandwidth if intensity < peak / bandwidth else peak"},
    "left of the ridge that is bytes per second; each byte brings so many operations: multiply "
    "by the intensity.",
)
answers.edit(
    {ROOF: "1 / (1 / peak + 1 / (intensity * bandwidth))"},
    "that adds the two times up, as if nothing were computed while bytes move; the roofline "
    "lets them overlap.",
)
answers.edit(
    {ROOF: "min(1.0, intensity * bandwidth / peak)"},
    "that is a share of the peak; the roof is in operations per second.",
)
answers.edit(
    {"* bandwidth": "* peak"},
    "that is the intensity times the peak; it is the bandwidth that it multiplies.",
)
answers.edit(
    {"* bandwidth": "* bandwidth / 4"},
    "that counts operations per number of 4 bytes; the intensity is per byte.",
)
answers.edit(
    {ROOF: f"int({ROOF})"}, "what is behind the decimal point is dropped; give the number as it is."
)


@answers.right
def by_branches(intensity: float, peak: float, bandwidth: float) -> float:
    if intensity * bandwidth < peak:
        return intensity * bandwidth
    return peak


@answers.right
def by_time_of_a_byte(intensity: float, peak: float, bandwidth: float) -> float:
    return intensity / max(intensity / peak, 1 / bandwidth)


@answers.right
def by_ridge(intensity: float, peak: float, bandwidth: float) -> float:
    ridge = peak / bandwidth
    return peak * min(1.0, intensity / ridge)


EXERCISE = Exercise(
    task="Compute the most operations per second that work of an intensity can reach.",
    reference=attainable,
    cases=cases,
    answers=answers,
)

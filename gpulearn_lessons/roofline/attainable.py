"""The roofline itself."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import attainable


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


EXERCISE = Exercise(
    task="Compute the highest rate that work of a given intensity can reach.",
    reference=attainable,
    cases=cases,
)

"""The intensity at which the two limits meet."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import ridge_point


def cases() -> list[Case]:
    """GPUs by their data sheets, a laptop, and a machine whose memory outruns its arithmetic."""
    machines = [
        (f"a {name}, {dtype}", gpu_spec(name).peak[dtype], gpu_spec(name).bandwidth)
        for name, dtype in (("T4", "float32"), ("H100", "bfloat16"), ("RTX 4090", "float64"))
    ]
    machines.append(("a laptop", 3.1e11, 4.7e10))
    machines.append(("a machine with more bytes than operations a second", 2e9, 8e9))
    return [Case(label, (peak, bandwidth)) for label, peak, bandwidth in machines]


EXERCISE = Exercise(
    task="Compute the arithmetic intensity at which memory and arithmetic limit equally.",
    reference=ridge_point,
    cases=cases,
)

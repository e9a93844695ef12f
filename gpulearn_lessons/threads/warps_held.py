"""How many warps a multiprocessor holds, for blocks of any size."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.occupancy import warps_held


def cases() -> list[Case]:
    """Blocks that fill a multiprocessor, leave a rest, are many, or too large; odd sizes."""
    result = []
    for gpu in ("T4", "RTX 4090", "H100"):
        sm = GPUS[gpu].multiprocessor
        for size in (32, 33, 96, 100, 256, 512, 1024):
            label = f"blocks of {size} on the {gpu}, {sm.threads:,} threads and {sm.blocks} blocks"
            result.append(Case(label, (size, sm.threads, sm.blocks)))
    large = Case("blocks of 1024 where 768 threads have room", (1024, 768, 8))
    return [*result, Case("one block of 7 threads", (7, 1024, 1)), large]


EXERCISE = Exercise(
    task="Compute how many warps a multiprocessor holds in blocks of a given size.",
    reference=warps_held,
    cases=cases,
)

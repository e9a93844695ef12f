"""The size from which the GPU stays faster."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.perf.series import crossover

answers = Answers(crossover)


def cases() -> list[Case]:
    """Tables with one crossing, several, none, ties, and sizes that are no powers of two."""
    tables: tuple[tuple[str, list[int], list[float], list[float]], ...] = (
        ("one crossing", [64, 128, 256, 512], [1.0, 2.0, 8.0, 60.0], [5.0, 5.0, 5.0, 6.0]),
        ("a lead lost and won back", [10, 20, 30, 40], [3.0, 4.0, 5.0, 9.0], [4.0, 3.0, 6.0, 8.0]),
        ("a GPU that is never faster", [64, 128, 256], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]),
        ("a GPU that is always faster", [3, 5, 9], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0]),
        ("a tie before the crossing", [100, 200, 300], [1.0, 5.0, 9.0], [5.0, 5.0, 6.0]),
        ("a GPU that leads only in the middle", [1, 2, 3], [1.0, 9.0, 4.0], [2.0, 5.0, 6.0]),
        ("a lead lost at once", [8, 16, 24, 32], [9.0, 1.0, 9.0, 9.0], [5.0, 5.0, 5.0, 5.0]),
        ("a single size", [77], [2.0], [1.0]),
        ("a tie inside the lead", [1, 2, 3], [2.0, 2.0, 2.0], [1.0, 2.0, 1.0]),
        ("a tie at the end", [1, 2], [2.0, 2.0], [1.0, 2.0]),
        ("a lead lost for two sizes", [1, 2, 3, 4, 5], [2.0] * 5, [1.0, 1.0, 3.0, 3.0, 1.0]),
        ("times of microseconds", [1, 2, 3], [2e-6] * 3, [3e-6, 1.999e-6, 1e-6]),
    )
    return [Case(label, (sizes, cpu, gpu)) for label, sizes, cpu, gpu in tables]


answers.edit(
    {"            start = None": "            continue"},
    "that is the first size at which the GPU leads; further on it falls behind again. "
    "Find the size from which it stays ahead.",
)
answers.edit(
    {"start = None\n        elif start is None:\n            start = size": "start = size"},
    "that is the last size at which the CPU still wins, one too small.",
)
answers.edit(
    {"return start": "return None if start is None else sizes.index(start)"},
    "that is a position in the table; return the size that stands there.",
)
answers.edit({"gpu >= cpu": "cpu >= gpu"}, "CPU and GPU are swapped: fewer seconds are faster.")
answers.edit(
    {"gpu >= cpu": "gpu > cpu"}, "a tie is no lead: faster means fewer seconds, not as many."
)
answers.edit(
    {"gpu >= cpu": "gpu > cpu", "elif start": "elif gpu < cpu and start"},
    "a tie ends the lead too: the GPU stays ahead only while it takes fewer seconds.",
)


@answers.wrong("that looks one size ahead; the lead must hold to the end of the table.")
def next_only(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    faster = [g < c for c, g in zip(cpu_seconds, gpu_seconds, strict=True)]
    for i, n in enumerate(sizes):
        if faster[i] and (i + 1 == len(sizes) or faster[i + 1]):
            return n
    return None


answers.edit(
    {"gpu >= cpu": "gpu > cpu or np.isclose(gpu, cpu)"},
    "that takes nearly equal times for equal, and a small lead is a lead: compare with <.",
    np=np,
)
answers.edit(
    {"            start = None": "            return None"},
    "it gives up at the first size at which the GPU does not lead to the end: return None only "
    "after the loop.",
)
answers.edit(
    {"return start": "return None if start == sizes[-1] else start"},
    "the last size is never looked at: range(len(sizes)) reaches it already.",
)
answers.edit(
    {"zip(sizes, cpu_seconds, gpu_seconds": "zip(sizes[1:], cpu_seconds[1:], gpu_seconds[1:]"},
    "the first size is never looked at: walk back down to index 0.",
)
answers.edit(
    {"return start": "return -1 if start is None else start"},
    "−1 is no size: where there is no crossover, return None.",
)
answers.edit(
    {"gpu >= cpu:\n            start = None\n        elif start is None:": "gpu < cpu:"},
    "that is the largest size at which the GPU wins; find the smallest.",
)
answers.edit(
    {"return start": "return sizes[-1] if start is None else start"},
    "where the GPU is never ahead to the end, there is no crossover: return None.",
)
answers.edit(
    {"return start": "return start or 0"},
    "0 is not a measured size: where there is no crossover, return None.",
)


@answers.right
def backwards(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = None
    for i in reversed(range(len(sizes))):
        if gpu_seconds[i] >= cpu_seconds[i]:
            break
        found = sizes[i]
    return found


@answers.right
def by_slices(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    faster = np.asarray(gpu_seconds) < np.asarray(cpu_seconds)
    return next((n for i, n in enumerate(sizes) if faster[i:].all()), None)


EXERCISE = Exercise(
    task="Find the smallest size from which the GPU stays faster.",
    reference=crossover,
    cases=cases,
    answers=answers,
)

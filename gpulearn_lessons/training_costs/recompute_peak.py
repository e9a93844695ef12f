"""The peak memory of a chain of stages, some of which are recomputed, before it runs."""

from __future__ import annotations

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.recompute import recompute_peak


def cases() -> list[Case]:
    """None, all, the first, the last and some; alike and unlike; a peak at each possible moment."""
    alike = ((10, 10, 10, 10), (50, 50, 50, 50))
    unlike = ((8, 40, 5, 20), (100, 30, 300, 7))
    work: tuple[tuple[str, tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]], ...] = (
        ("four stages alike, none recomputed", alike, ()),
        ("four stages alike, all recomputed", alike, (0, 1, 2, 3)),
        ("four stages alike, the last recomputed", alike, (3,)),
        ("four stages alike, the first recomputed", alike, (0,)),
        ("unlike stages, all recomputed", unlike, (0, 1, 2, 3)),
        ("unlike stages, the largest recomputed", unlike, (2,)),
        ("unlike stages, the first and the last recomputed", unlike, (3, 0)),
        ("a large first stage that is recomputed", ((5, 1, 1), (900, 10, 10)), (0,)),
        ("one stage, not recomputed", ((7,), (11,)), ()),
        ("one stage, recomputed", ((7,), (11,)), (0,)),
        ("a large stage in the middle", ((3, 3, 3, 3, 3), (20, 20, 90, 20, 20)), (1, 2, 3)),
        ("nine stages, the last and the first recomputed", ((5,) * 9, (50,) * 9), (8, 0)),
        ("six stages, the first the largest", ((2,) * 6, (200, 9, 9, 9, 9, 9)), (0, 2, 3, 4, 5)),
    )
    return [
        Case(label, (list(inputs), list(inside), set(recomputed)))
        for label, (inputs, inside), recomputed in work
    ]


EXERCISE = Exercise(
    task="Return the most bytes that a chain keeps at once when some of its stages are recomputed.",
    reference=recompute_peak,
    cases=cases,
)

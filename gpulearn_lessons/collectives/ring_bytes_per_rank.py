"""Bytes that each rank sends in a ring all-reduce."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import ring_bytes_per_rank


def cases() -> list[Case]:
    """One rank to many; sizes that N divides and that it does not, zero, large ones."""
    pairs = [
        (4, 1000), (2, 8), (1, 512), (3, 1000), (8, 64_000_000), (5, 0), (1024, 3 * 10**9), (7, 12),
        (4, 1002), (3, 7), (6, 1_000_003), (16, 5),
    ]  # fmt: skip
    return [
        Case(f"{n:,} rank{'s' * (n > 1)} and {size:,.0f} bytes", (n, size)) for n, size in pairs
    ]


EXERCISE = Exercise(
    task="Say how many bytes each of N ranks sends in a ring all-reduce of S bytes.",
    reference=ring_bytes_per_rank,
    cases=cases,
)

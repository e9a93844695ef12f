"""Efficiency of strong and weak scaling."""

from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.scaling_out.laws import scaling_efficiency


def cases() -> list[Case]:
    """Perfect, good, worse than one rank, better than perfect; both kinds; 1 rank to many."""
    strong = [(8.0, 2.5, 4), (12.0, 6.0, 2), (5.0, 1.0, 4), (3.0, 4.5, 8), (7, 7, 1), (900, 5, 256)]
    weak = [(8.0, 10.0, 4), (6.0, 6.0, 16), (5.0, 4.0, 2), (2.0, 16.0, 8), (7, 7, 1)]
    return [
        *(Case(_label(one, t, n), (one, t, n))
          for one, t, n in strong[:2]),
        *(Case(f"{_label(one, t, n)}, strong", (one, t, n, "strong"))
          for one, t, n in strong),
        *(Case(f"{_label(one, t, n)}, weak", (one, t, n, "weak"))
          for one, t, n in weak),
    ]  # fmt: skip


def _label(one: float, many: float, ranks: int) -> str:
    who = f"{ranks} ranks that take" if ranks > 1 else "1 rank that takes"
    return f"{who} {many} s in place of {one} s"


EXERCISE = Exercise(
    task="Compute the fraction of N ranks' work that is not lost, in strong or in weak scaling.",
    reference=scaling_efficiency,
    cases=cases,
)

"""Efficiency of strong and weak scaling."""

from __future__ import annotations

from typing import Any

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.scaling.laws import scaling_efficiency

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """Perfect, good, worse than one rank, better than perfect; both kinds; 1 rank to many."""
    strong = [(8.0, 2.5, 4), (12.0, 6.0, 2), (5.0, 1.0, 4), (3.0, 4.5, 8), (7, 7, 1), (900, 5, 256)]
    weak = [(8.0, 10.0, 4), (6.0, 6.0, 16), (5.0, 4.0, 2), (2.0, 16.0, 8), (7, 7, 1)]
    return [
        *(Case(f"{n} ranks that take {t} s in place of {one} s", (one, t, n))
          for one, t, n in strong[:2]),
        *(Case(f"{n} ranks that take {t} s in place of {one} s, strong", (one, t, n, "strong"))
          for one, t, n in strong),
        *(Case(f"{n} ranks that take {t} s in place of {one} s, weak", (one, t, n, "weak"))
          for one, t, n in weak),
    ]  # fmt: skip


@answers.wrong(
    "that is the speed-up, for both kinds: with strong scaling N ranks could be N times as fast, "
    "so divide by N."
)
def speedup(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return seconds_one / seconds_many


@answers.wrong(
    "with strong scaling that is the efficiency, with weak scaling it is divided by N as well: N "
    "ranks do N times the work there, and should take as long as one."
)
def weak_divided(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return seconds_one / seconds_many / ranks


@answers.wrong("the kinds are swapped: it is strong scaling whose speed-up is divided by N.")
def swapped(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one / seconds_many
    return ratio if kind == "strong" else ratio / ranks


@answers.wrong(
    "the efficiency is upside down: it is the time that would do, divided by the time that it "
    "takes, and falls where seconds_many grows."
)
def upside_down(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return 1 / scaling_efficiency(seconds_one, seconds_many, ranks, kind)


@answers.wrong(
    "the speed-up is upside down: it is seconds_one / seconds_many, above 1 where more ranks pay."
)
def times_swapped(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return scaling_efficiency(seconds_many, seconds_one, ranks, kind)


@answers.wrong(
    "with weak scaling it is upside down: where N ranks take longer than one had, it is below 1."
)
def weak_upside_down(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    good = scaling_efficiency(seconds_one, seconds_many, ranks, kind)
    return good if kind == "strong" else 1 / good


@answers.wrong(
    "it is cut off at 1, and ranks can be better than that: shared out, the work may fit into a "
    "cache. Report what was measured."
)
def clipped(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return min(1.0, scaling_efficiency(seconds_one, seconds_many, ranks, kind))


@answers.wrong("that is in percent: 1 is perfect, not 100.")
def percent(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return 100 * scaling_efficiency(seconds_one, seconds_many, ranks, kind)


@answers.wrong("that is the part that is lost: what is asked for is the part that is not.")
def lost(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return 1 - scaling_efficiency(seconds_one, seconds_many, ranks, kind)


@answers.wrong(
    "the speed-up is multiplied by N: perfect strong scaling has a speed-up of N, and N / N is 1."
)
def multiplied(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one / seconds_many
    return ratio * ranks if kind == "strong" else ratio


@answers.wrong(
    "with weak scaling it is multiplied by N, which is how much more is done in a second: divided "
    "by the N ranks that do it, T₁ / T_N is left."
)
def weak_multiplied(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one / seconds_many
    return ratio / ranks if kind == "strong" else ratio * ranks


@answers.wrong(
    "divided by N − 1, the ranks that were added: divide by N, all that work, so that one rank "
    "has 1."
)
def without_the_first(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one / seconds_many
    return ratio / max(1, ranks - 1) if kind == "strong" else ratio


@answers.wrong("// rounds down to a whole number: divide with /.")
def rounded(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one // seconds_many
    return ratio / ranks if kind == "strong" else ratio


@answers.wrong(
    "that is the part of the time that is saved, 1 − T_N / T₁: it says nothing of how many ranks "
    "it took."
)
def saved(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    return 1 - seconds_many / seconds_one


@answers.wrong(
    "brackets are missing: a / b * n multiplies by n at the end. T₁ / (N · T_N), or divide twice."
)
def brackets_missing(seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong") -> Any:
    ratio = seconds_one / ranks * seconds_many
    return ratio if kind == "strong" else seconds_one / seconds_many


@answers.right
def ideal_over_measured(
    seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong"
) -> Any:
    ideal = seconds_one / ranks if kind == "strong" else seconds_one
    return ideal / seconds_many


@answers.right
def work_done_over_work_paid(
    seconds_one: Any, seconds_many: Any, ranks: Any, kind: str = "strong"
) -> Any:
    done = seconds_one * (ranks if kind == "weak" else 1)
    return done / (ranks * seconds_many)


EXERCISE = Exercise(
    name="scaling_efficiency",
    notebook="14_data_parallel",
    task="Say which part of N ranks' work is not lost, in strong or in weak scaling.",
    reference=scaling_efficiency,
    cases=cases,
    answers=answers,
)

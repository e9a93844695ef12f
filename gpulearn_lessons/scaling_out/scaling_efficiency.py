"""Efficiency of strong and weak scaling."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.scaling_out.laws import scaling_efficiency

answers = Answers(scaling_efficiency)

SPEEDUP = "seconds_one / seconds_many"
BY_KIND = 'speedup / ranks if kind == "strong" else speedup'


def cases() -> list[Case]:
    """Perfect, good, worse than one rank, better than perfect; both kinds; 1 rank to many."""
    strong = [(8.0, 2.5, 4), (12.0, 6.0, 2), (5.0, 1.0, 4), (3.0, 4.5, 8), (7, 7, 1), (900, 5, 256)]
    weak = [(8.0, 10.0, 4), (6.0, 6.0, 16), (5.0, 4.0, 2), (2.0, 16.0, 8), (7, 7, 1)]
    return [
        *(Case(_said(one, t, n), (one, t, n))
          for one, t, n in strong[:2]),
        *(Case(f"{_said(one, t, n)}, strong", (one, t, n, "strong"))
          for one, t, n in strong),
        *(Case(f"{_said(one, t, n)}, weak", (one, t, n, "weak"))
          for one, t, n in weak),
    ]  # fmt: skip


def _said(one: float, many: float, ranks: int) -> str:
    who = f"{ranks} ranks that take" if ranks > 1 else "1 rank that takes"
    return f"{who} {many} s in place of {one} s"


answers.edit(
    {" / ranks": ""},
    "that is the speed-up, for both kinds: with strong scaling N ranks could be N times as fast, "
    "so divide by N.",
)
answers.edit(
    {BY_KIND: "speedup / ranks"},
    "with strong scaling that is the efficiency, with weak scaling it is divided by N as well: N "
    "ranks do N times the work there, and should take as long as one.",
)
answers.edit(
    {"==": "!="}, "the kinds are swapped: it is strong scaling whose speed-up is divided by N."
)
answers.edit(
    {BY_KIND: f"1 / ({BY_KIND})"},
    "the efficiency is upside down: it is the time that would do, divided by the time that it "
    "takes, and falls where seconds_many grows.",
)
answers.edit(
    {SPEEDUP: "seconds_many / seconds_one"},
    "the speed-up is upside down: it is seconds_one / seconds_many, above 1 where more ranks pay.",
)
answers.edit(
    {"else speedup": "else 1 / speedup"},
    "with weak scaling it is upside down: where N ranks take longer than one had, it is below 1.",
)
answers.edit(
    {BY_KIND: f"min(1.0, {BY_KIND})"},
    "it is cut off at 1, and ranks can be better than that: shared out, the work may fit into a "
    "cache. Report what was measured.",
)
answers.edit(
    {BY_KIND: 'speedup if kind == "strong" else speedup * ranks'},
    "that is how many times as much N ranks do as one in the same time: divide it by N, for both "
    "kinds.",
)
answers.edit({BY_KIND: f"100 * ({BY_KIND})"}, "that is in percent: 1 is perfect, not 100.")
answers.edit(
    {BY_KIND: f"1 - ({BY_KIND})"},
    "that is the part that is lost: what is asked for is the part that is not.",
)
answers.edit(
    {"/ ranks": "* ranks"},
    "the speed-up is multiplied by N: perfect strong scaling has a speed-up of N, and N / N is 1.",
)
answers.edit(
    {"else speedup": "else speedup * ranks"},
    "with weak scaling it is multiplied by N, which is how much more is done in a second: divided "
    "by the N ranks that do it, T₁ / T_N is left.",
)
answers.edit(
    {"/ ranks": "/ max(1, ranks - 1)"},
    "divided by N − 1, the ranks that were added: divide by N, all that work, so that one rank "
    "has 1.",
)
answers.edit(
    {SPEEDUP: "seconds_one // seconds_many"}, "// rounds down to a whole number: divide with /."
)
answers.edit(
    {BY_KIND: "1 - seconds_many / seconds_one"},
    "that is the part of the time that is saved, 1 − T_N / T₁: it says nothing of how many ranks "
    "it took.",
)
answers.edit(
    {"speedup / ranks": "seconds_one / ranks * seconds_many"},
    "brackets are missing: a / b * n multiplies by n at the end. T₁ / (N · T_N), or divide twice.",
)

answers.variant(
    {
        SPEEDUP: 'seconds_one / ranks if kind == "strong" else seconds_one',
        BY_KIND: "speedup / seconds_many",
    }
)
answers.variant(
    {
        SPEEDUP: 'seconds_one * (ranks if kind == "weak" else 1)',
        BY_KIND: "speedup / (ranks * seconds_many)",
    }
)


EXERCISE = Exercise(
    task="Say which part of N ranks' work is not lost, in strong or in weak scaling.",
    reference=scaling_efficiency,
    cases=cases,
    answers=answers,
)

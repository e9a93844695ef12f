"""Rounds, bytes and seconds of recursive halving and doubling, said before it has run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import halving_doubling_cost
from gpulearn.parallel.links import Link
from gpulearn.require import shown

answers = Answers(halving_doubling_cost)

ROUNDS = "2 * (ranks.bit_length() - 1)"
SENT = "2 * (ranks - 1) / ranks * size"
SECONDS = "rounds * link.latency + sent / link.bandwidth"
NAMES = (("rounds", ""), ("bytes", ""), ("seconds", " s"))


def cases() -> list[Case]:
    """Powers of two from 1 to 1,024, sizes that N does not divide, links of several kinds."""
    slow, fast, free = Link(50e-6, 1e9), Link(3.4e-6, 450e9), Link(0.0, 2e9)
    works = [
        (4, 1000, slow), (2, 8, slow), (8, 4096, fast), (16, 1_000_001, slow), (1, 64, slow),
        (1024, 2 * 10**9, fast), (64, 0, fast), (32, 12_345_678, free),
    ]  # fmt: skip
    return [
        Case(f"{n:,} rank{'s' * (n > 1)}, {size:,.0f} bytes and {link}", (n, size, link))
        for n, size, link in works
    ]


def difference(got: Any, wanted: Any) -> str | None:
    """Rounds, then bytes, then seconds, each to nine digits."""
    if got is None:
        return NOTHING
    try:
        three = [value.item() if hasattr(value, "item") else value for value in got]
    except (TypeError, ValueError):
        three = []
    if len(three) != 3 or not all(map(is_number, three)):
        return f"it returns {shown(got)}, expected three numbers: rounds, bytes, seconds"
    for (name, unit), found, right in zip(NAMES, three, wanted, strict=True):
        if not math.isclose(found, right, rel_tol=1e-9, abs_tol=1e-15):
            return f"{name} are {found:.12g}{unit}, expected {right:.12g}{unit}"
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two answers are as many numbers, and these are the same."""
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-9, atol=1e-15)


answers.edit(
    {ROUNDS: "ranks.bit_length() - 1"},
    "that is one way only: log₂N rounds make the sums, and log₂N more hand them back.",
)
answers.edit(
    {ROUNDS: "ranks.bit_length() - 1", SENT: "(ranks - 1) / ranks * size"},
    "that is the halving alone: the sums have to be handed back, with as many rounds and bytes.",
)
answers.edit(
    {SENT: "(ranks - 1) / ranks * size"},
    "the bytes are those of the halving alone: handing the sums back takes as many once more.",
)
answers.edit(
    {ROUNDS: "2 * (ranks - 1)"},
    "2(N−1) rounds are the ring's: here the part halves in each, and log₂N halvings are enough.",
)
answers.edit(
    {SENT: "rounds * size"},
    "that is the whole tensor in each round, as in recursive doubling: here it is S/2, then S/4, "
    "down to S/N, and back.",
)
answers.edit(
    {SENT: "rounds / 2 * size"},
    "that is S/2 in every round: the part halves again in each, S/2, S/4, down to S/N, and back.",
)
answers.edit(
    {ROUNDS: "ranks.bit_length() - 1", SENT: "rounds * size"},
    "that is recursive doubling, the whole tensor in each of log₂N rounds.",
)
answers.edit(
    {SENT: "2 * size"},
    "2S is where S/2 + S/4 + … goes for many ranks; with N of them the last part is S/N, and the "
    "sum is (N−1)/N · S, each way.",
)
answers.edit(
    {SENT: "2 / ranks * size"},
    "that is the smallest part alone, once each way: add S/2, S/4 and so on down to S/N.",
)
answers.edit(
    {SENT: "2 * (ranks - 1) * size"},
    "that is what all ranks send together: the question is about one of them.",
)
answers.edit(
    {SENT: "2 * ((ranks - 1) / ranks * size // 1)"},
    "the bytes are rounded: the mean over the ranks need not be a whole number.",
)
answers.edit(
    {"sent / link.bandwidth": "sent * link.bandwidth"},
    "bytes times bytes per second are no seconds: divide by the bandwidth.",
)
answers.edit(
    {"rounds * link.latency": "link.latency"},
    "the latency is paid once only: each round has to wait for the one before, so that it is paid "
    "in each.",
)
answers.edit(
    {SECONDS: "rounds * (link.latency + sent / link.bandwidth)"},
    "all bytes are counted in each round: they are the bytes of all rounds together.",
)
answers.edit({SECONDS: "sent / link.bandwidth"}, "the latency is left out: each round pays it.")
answers.edit({SECONDS: "rounds * link.latency"}, "the bytes take no time: add bytes / bandwidth.")
answers.edit(
    {f"return rounds, sent, {SECONDS}": f"return sent, rounds, {SECONDS}"},
    "rounds and bytes are swapped: return rounds, bytes, seconds.",
)
answers.edit(
    {f"return rounds, sent, {SECONDS}": f"return {SECONDS}"},
    "that is the time alone: return rounds, bytes, seconds.",
)
answers.edit(
    {SECONDS: f"1e3 * ({SECONDS})"}, "the time is in milliseconds: it is asked for in seconds."
)
answers.edit(
    {ROUNDS: "2 * math.log(ranks)"},
    "that is the natural logarithm: how often N can be halved is log₂N, math.log2(ranks).",
    math=math,
)

answers.variant({ROUNDS: "2 * math.log2(ranks)"}, math=math)


@answers.right
def one_after_another(ranks: int, size: float, link: Any) -> Any:
    rounds, sent, part = 0, 0.0, float(size)
    while ranks > 1:
        part, ranks = part / 2, ranks // 2
        rounds, sent = rounds + 2, sent + 2 * part
    return [rounds, sent, rounds * link.alpha + sent * link.beta]


EXERCISE = Exercise(
    task="Say the rounds, the bytes that each rank sends, and the seconds of halving and doubling.",
    reference=halving_doubling_cost,
    cases=cases,
    answers=answers,
    difference=difference,
    kinships=(same,),
)

"""Bytes that each rank sends in a ring all-reduce."""

from __future__ import annotations

import math
from typing import Any

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.parallel.costs import ring_bytes_per_rank

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """One rank to many; sizes that N divides and that it does not, zero, large ones."""
    pairs = [(4, 1000), (2, 8), (1, 512), (3, 1000), (8, 64_000_000), (5, 0), (1024, 3e9), (7, 12)]
    return [Case(f"{n:,} ranks and {size:,.0f} bytes", (n, size)) for n, size in pairs]


@answers.wrong("that is the first lap alone: the ring goes round twice, N−1 steps each time.")
def half(ranks: Any, size: Any) -> Any:
    return (ranks - 1) / ranks * size


@answers.wrong(
    "that is with the whole tensor in each of N−1 hops; here each hop carries a chunk of S/N, and "
    "there are 2(N−1) of them."
)
def whole_tensor_each_hop(ranks: Any, size: Any) -> Any:
    return (ranks - 1) * size


@answers.wrong(
    "that is what all ranks send together, or one root with whole tensors: each rank sends "
    "chunks of S/N."
)
def of_all_ranks(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) * size


@answers.wrong(
    "2S is where it goes for many ranks; with N of them it is (N−1)/N of that, since each "
    "lap has N−1 steps, not N."
)
def limit_of_many(ranks: Any, size: Any) -> Any:
    return 2 * size


@answers.wrong("that is one step; there are 2(N−1), N−1 in each lap.")
def one_step(ranks: Any, size: Any) -> Any:
    return size / ranks


@answers.wrong("that is one step of each lap; each lap has N−1 steps.")
def two_steps(ranks: Any, size: Any) -> Any:
    return 2 * size / ranks


@answers.wrong("that is N−2 steps in each lap: to meet all ranks a chunk needs N−1.")
def step_too_few(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 2) / ranks * size


@answers.wrong("that is N+1 steps in each lap: to meet all ranks a chunk needs N−1.")
def step_too_many(ranks: Any, size: Any) -> Any:
    return 2 * (ranks + 1) / ranks * size


@answers.wrong("the factor is upside down: (N−1)/N is below 1, N/(N−1) above it.")
def upside_down(ranks: Any, size: Any) -> Any:
    return 2 * ranks / (ranks - 1) * size


@answers.wrong("that is in bits: the size is in bytes, and so is what is sent.")
def in_bits(ranks: Any, size: Any) -> Any:
    return 8 * 2 * (ranks - 1) / ranks * size


@answers.wrong(
    "the size is taken for a number of float32 elements: it is in bytes already, without a factor "
    "of 4."
)
def four_bytes_each(ranks: Any, size: Any) -> Any:
    return 4 * 2 * (ranks - 1) / ranks * size


@answers.wrong(
    "// rounds the factor 2(N−1)/N down to a whole number, 1 from two ranks on: divide with /."
)
def factor_rounded(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) // ranks * size


@answers.wrong(
    "size // N drops the rest where N does not divide: the other chunks are larger. Divide with /."
)
def rest_dropped(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) * (size // ranks)


@answers.wrong("brackets are missing: without them only the 1 is divided by N, not N−1.")
def brackets_missing(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1 / ranks) * size


@answers.wrong("brackets are missing: without them 1 / N · S is taken from 2N. Write 2 * (N − 1).")
def both_brackets_missing(ranks: Any, size: Any) -> Any:
    return 2 * ranks - 1 / ranks * size


@answers.wrong("that is the factor alone: multiply it by the size.")
def factor_alone(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) / ranks


@answers.wrong("that is how many messages a rank sends: each carries size / N bytes.")
def messages(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1)


@answers.wrong(
    "ranks and size are swapped: the tensor is cut into as many chunks as there are ranks."
)
def swapped(ranks: Any, size: Any) -> Any:
    return 2 * (size - 1) / size * ranks


@answers.wrong("that is what a rank sends and what it receives, together: count what it sends.")
def sent_and_received(ranks: Any, size: Any) -> Any:
    return 4 * (ranks - 1) / ranks * size


@answers.wrong(
    "it is rounded down to a whole number: where N does not divide the size, chunks differ, and "
    "what is asked for is the mean over the ranks. Divide with /."
)
def rounded_down(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) * size // ranks


@answers.wrong(
    "it is rounded to a whole number: where N does not divide the size, chunks differ, and what "
    "is asked for is the mean over the ranks. Return it as it is."
)
def rounded(ranks: Any, size: Any) -> Any:
    return round(2 * (ranks - 1) / ranks * size)


@answers.wrong(
    "the chunks are rounded up to whole bytes: where N does not divide, only some are longer. "
    "Divide with /."
)
def longest_chunks(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) * -(-size // ranks)


@answers.wrong("that is recursive doubling, log₂N exchanges of the whole tensor, not the ring.")
def doubling(ranks: Any, size: Any) -> Any:
    return math.log2(ranks) * size


@answers.wrong("that is what all ranks send together, divided by N twice: once is enough.")
def divided_twice(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) / ranks**2 * size


@answers.wrong("the tensor is multiplied by N: chunks are S/N, not S · N.")
def times_ranks(ranks: Any, size: Any) -> Any:
    return 2 * (ranks - 1) * ranks * size


@answers.right
def chunks_times_steps(ranks: Any, size: Any) -> Any:
    chunk = size / ranks
    return sum(chunk for _ in range(2 * (ranks - 1)))


@answers.right
def all_but_one_chunk_twice(ranks: Any, size: Any) -> Any:
    return 2 * (size - size / ranks)


EXERCISE = Exercise(
    name="ring_bytes_per_rank",
    notebook="13_collectives",
    task="Say how many bytes each of N ranks sends in a ring all-reduce of S bytes.",
    reference=ring_bytes_per_rank,
    cases=cases,
    answers=answers,
)

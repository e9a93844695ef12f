"""Bytes that each rank sends in a ring all-reduce."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import ring_bytes_per_rank

answers = Answers(ring_bytes_per_rank)

BYTES = "2 * (ranks - 1) / ranks * size"


def cases() -> list[Case]:
    """One rank to many; sizes that N divides and that it does not, zero, large ones."""
    pairs = [
        (4, 1000), (2, 8), (1, 512), (3, 1000), (8, 64_000_000), (5, 0), (1024, 3 * 10**9), (7, 12),
        (4, 1002), (3, 7), (6, 1_000_003), (16, 5),
    ]  # fmt: skip
    return [
        Case(f"{n:,} rank{'s' * (n > 1)} and {size:,.0f} bytes", (n, size)) for n, size in pairs
    ]


answers.edit(
    {"2 * ": ""}, "that is the first lap alone: the ring goes round twice, N−1 steps each time."
)
answers.edit(
    {BYTES: "(ranks - 1) * size"},
    "that is with the whole tensor in each of N−1 hops; here each hop carries a chunk of S/N, and "
    "there are 2(N−1) of them.",
)
answers.edit(
    {" / ranks": ""},
    "that is what all ranks send together, or one root with whole tensors: each rank sends "
    "chunks of S/N.",
)
answers.edit(
    {BYTES: "2 * size"},
    "2S is where it goes for many ranks; with N of them it is (N−1)/N of that, since each "
    "lap has N−1 steps, not N.",
)
answers.edit({BYTES: "size / ranks"}, "that is one step; there are 2(N−1), N−1 in each lap.")
answers.edit({BYTES: "2 * size / ranks"}, "that is one step of each lap; each lap has N−1 steps.")
answers.edit(
    {"ranks - 1": "ranks - 2"},
    "that is N−2 steps in each lap: to meet all ranks a chunk needs N−1.",
)
answers.edit(
    {"ranks - 1": "ranks + 1"},
    "that is N+1 steps in each lap: to meet all ranks a chunk needs N−1.",
)
answers.edit(
    {BYTES: "2 * ranks / (ranks - 1) * size"},
    "the factor is upside down: (N−1)/N is below 1, N/(N−1) above it.",
)
answers.edit({"2": "8 * 2"}, "that is in bits: the size is in bytes, and so is what is sent.")
answers.edit(
    {"2": "4 * 2"},
    "the size is taken for a number of float32 elements: it is in bytes already, without a factor "
    "of 4.",
)
answers.edit(
    {"/": "//"},
    "from two ranks on that is S, however many there are: the factor is 2(N−1)/N, between 1 and 2, "
    "of which // would leave 1.",
)
answers.edit(
    {BYTES: "2 * (ranks - 1) * (size // ranks)"},
    "size // N drops the rest where N does not divide: the other chunks are larger. Divide with /.",
)
answers.edit(
    {BYTES: "2 * (ranks - 1 / ranks) * size"},
    "brackets are missing: without them only the 1 is divided by N, not N−1.",
)
answers.edit(
    {"(ranks - 1)": "ranks - 1"},
    "brackets are missing: without them 1 / N · S is taken from 2N. Write 2 * (N − 1).",
)
answers.edit({" * size": ""}, "that is the factor alone: multiply it by the size.")
answers.edit(
    {BYTES: "2 * (ranks - 1)"},
    "that is how many messages a rank sends: each carries size / N bytes.",
)
answers.edit(
    {BYTES: "2 * (size - 1) / size * ranks"},
    "ranks and size are swapped: the tensor is cut into as many chunks as there are ranks.",
)
answers.edit(
    {"2": "4"}, "that is what a rank sends and what it receives, together: count what it sends."
)
answers.edit(
    {BYTES: "2 * (ranks - 1) * size // ranks"},
    "it is rounded down to a whole number: where N does not divide the size, chunks differ, and "
    "what is asked for is the mean over the ranks. Divide with /.",
)
answers.edit(
    {BYTES: f"round({BYTES})"},
    "it is rounded to a whole number: where N does not divide the size, chunks differ, and what "
    "is asked for is the mean over the ranks. Return it as it is.",
)
answers.edit(
    {BYTES: "2 * (ranks - 1) * -(-size // ranks)"},
    "the chunks are rounded up to whole bytes: where N does not divide, only some are longer. "
    "Divide with /.",
)
answers.edit(
    {BYTES: "float(np.log2(ranks)) * size"},
    "that is recursive doubling, log₂N exchanges of the whole tensor, not the ring.",
)
answers.edit(
    {"/ ranks": "/ ranks**2"},
    "that is what all ranks send together, divided by N twice: once is enough.",
)
answers.edit({"/ ranks": "* ranks"}, "the tensor is multiplied by N: chunks are S/N, not S · N.")

answers.variant({BYTES: "sum(size / ranks for _ in range(2 * (ranks - 1)))"})
answers.variant({BYTES: "2 * (size - size / ranks)"})


EXERCISE = Exercise(
    task="Say how many bytes each of N ranks sends in a ring all-reduce of S bytes.",
    reference=ring_bytes_per_rank,
    cases=cases,
    answers=answers,
)

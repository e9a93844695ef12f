"""A checkpoint of shards, read by another number of ranks than wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.sharded_training.checkpoints import reshard_checkpoint

answers = Answers(reshard_checkpoint)


@dataclass(frozen=True)
class Resharded:
    """What came of an answer on each of the new ranks.

    Attributes:
        count: numbers in the row, without padding.
        shards: what each rank returned, as lists; in words what was no row of numbers.
        read: the files that each rank read, as often as it did.
        dtypes: of each rank's shard where it is a tensor of another dtype than the files'; "" else.
    """

    count: int
    shards: tuple[Any, ...]
    read: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]


def cases() -> list[Case]:
    """More ranks, fewer, as many; counts that nothing divides; ranks with padding alone."""
    plans = [
        (8, 4, 2), (8, 2, 4), (10, 4, 2), (10, 4, 1), (10, 2, 4), (7, 3, 2), (7, 2, 3),
        (10, 4, 4), (5, 4, 3), (5, 4, 8), (13, 6, 4), (1, 2, 3), (24, 4, 3),
    ]  # fmt: skip
    return [
        Case(f"{count} numbers, written by {wrote} and read by {ranks}", (count, wrote, ranks))
        for count, wrote, ranks in plans
    ]


def files(count: int, wrote: int) -> list[Tensor]:
    """What the old ranks have written: 1.1, 2.1, 3.1 …, no float32, and zeros as padding."""
    length = -(-count // wrote)
    row = torch.zeros(wrote * length, dtype=torch.float64)
    row[:count] = torch.arange(1, count + 1, dtype=torch.float64) + 0.1
    return list(row.view(wrote, length))


def run(answer: Answer, case: Case) -> Resharded:
    """Let each new rank read."""
    count, wrote, ranks = case.args
    written, shards, every, dtypes = files(count, wrote), [], [], []
    for rank in range(ranks):
        read: list[int] = []

        def file(number: int, read: list[int] = read) -> Tensor:
            if not 0 <= number < wrote:
                raise IndexError(f"there is no file {number}: there are {wrote}, from 0")
            read.append(number)
            return written[number].clone()

        found = answer(file, count, wrote, rank, ranks)
        shards.append(_numbers(found))
        every.append(tuple(sorted(read)))
        other = isinstance(found, Tensor) and found.dtype != torch.float64
        dtypes.append(str(found.dtype).removeprefix("torch.") if other else "")
    return Resharded(count, tuple(shards), tuple(every), tuple(dtypes))


def _numbers(value: Any) -> Any:
    """A tensor, an array, a list or a tuple of numbers as a list; in words what is none."""
    try:
        row = np.array([float(one) for one in value])
    except (TypeError, ValueError):
        return shown(value)
    return row.tolist() if np.ndim(value) == 1 or isinstance(value, list | tuple) else shown(value)


def expected(case: Case) -> Resharded:
    """The row cut anew."""
    count, wrote, ranks = case.args
    shards = tuple(one.tolist() for one in files(count, ranks))
    old, new = -(-count // wrote), -(-count // ranks)
    needed = [
        tuple(n for n in range(wrote) if n * old < min(r * new + new, count) and r * new < n * old +
              old and r * new < count)
        for r in range(ranks)
    ]  # fmt: skip
    return Resharded(count, shards, tuple(needed), ("",) * ranks)


def difference(got: Resharded, wanted: Resharded) -> str | None:
    """The shards first, then their dtypes, then which files were read."""
    for rank, (found, right) in enumerate(zip(got.shards, wanted.shards, strict=True)):
        if isinstance(found, str):
            return f"rank {rank} gets {found}, expected a row of {len(right)} numbers"
        if found != right:
            return f"rank {rank} gets {shown(found)}, expected {shown(right)}"
    for rank, dtype in enumerate(got.dtypes):
        if dtype:
            return f"the numbers are right, but rank {rank} gets {dtype}, and the files are float64"
    for rank, (read, needed) in enumerate(zip(got.read, wanted.read, strict=True)):
        if len(read) > max(1, len(needed)):
            return (
                f"the shards are right, but rank {rank} reads files {shown(list(read))}, and "
                f"{shown(list(needed))} would do"
            )
    return None


def same_wrong_shards(one: Resharded, other: Resharded) -> bool:
    """Whether two answers give the same wrong numbers, whatever they read for them."""
    right = tuple(row.tolist() for row in files(one.count, len(one.shards)))
    return one.shards == other.shards != right


def same_wrong_dtypes(one: Resharded, other: Resharded) -> bool:
    """Whether two answers give the same numbers in the same wrong dtypes, whatever they read."""
    return any(one.dtypes) and (one.shards, one.dtypes) == (other.shards, other.dtypes)


LENGTHS = "old, new = -(-count // wrote), -(-count // ranks)"
RANGE = "range(first, last + 1)"
PART = "row[start - first * old : end - first * old]"
START = "start = min(rank * new, count)"
END = "end = min(start + new, count)"
FIRST = "first = min(start // old, wrote - 1)"
PAD = "(0, new - len(part))"
ROW = f"row = torch.cat([read(number) for number in {RANGE}])"

answers.edit(
    {ROW: "row = read(rank)", PART: "row[:new]", LENGTHS: "old = new = -(-count // wrote)"},
    "each rank reads the file of its own number, as if as many had written as read now: with "
    "another number of ranks a rank's shard begins at rank · ⌈count/ranks⌉, in whichever file that "
    "is.",
)
answers.edit(
    {RANGE: "range(wrote)", PART: "row[start:end]"},
    "the shards are right, but every rank reads every file. With 1,000 ranks that is the whole "
    "checkpoint 1,000 times: read those that hold a part of this shard.",
)
answers.edit(
    {LENGTHS: "old, new = -(-count // wrote), -(-count // wrote) * wrote // ranks"},
    "the padding of the old shards is cut up as if it were numbers: a new shard has ⌈count/ranks⌉, "
    "whatever the padding was.",
)
answers.edit(
    {LENGTHS: "old, new = count // wrote, -(-count // ranks)"},
    "a file has ⌈count/wrote⌉ numbers, rounded up: rounded down, places in it are off by more with "
    "each file.",
)
answers.edit(
    {LENGTHS: "old, new = -(-count // wrote), count // ranks"},
    "the new shards are rounded down, and the last numbers are in none: ⌈count/ranks⌉.",
)
answers.edit(
    {RANGE: "range(first, first + 1)"},
    "it reads one file: a shard may begin in one and end in another, so read all from the one with "
    "its first number to the one with its last.",
)
answers.edit(
    {PART: "row[start:end]"},
    "start and end are places in the whole row, and what was read begins with file `first`: take "
    "first · old off.",
)
answers.edit(
    {PAD: "(new - len(part), 0)"},
    "the padding stands at the front: zeros belong behind the last number of the row.",
)
answers.edit(
    {PAD: "(0, 0)"},
    "the last shards are too short: all ranks need shards of one length, padded with zeros.",
)
answers.edit(
    {
        "last = max(first, (end - 1) // old)": "last = max(first, end // old)",
        ROW: f"row = torch.cat([read(number) for number in {RANGE} if number < wrote])",
    },
    "the shards are right, but one file too many is read where a shard ends at the end of a file: "
    "the last number is end − 1.",
)
answers.edit(
    {ROW: ROW.replace("read(number)", "read(number).float()")},
    "the numbers are rounded to float32 on the way: the shard has the numbers of the files, so "
    "make new tensors with the files' dtype.",
)
answers.edit(
    {"return torch": "if not len(part):\n        return torch.zeros(new)\n    return torch"},
    "a shard of padding alone is in float32, torch's default: make its zeros in the files' dtype.",
)


@answers.wrong(
    "the shards are right, but a file is read again for each of its numbers: read it once, and "
    "take all that is needed."
)
def a_read_for_each_number(read: Any, count: int, wrote: int, rank: int, ranks: int) -> Any:
    old, new = -(-count // wrote), -(-count // ranks)
    places = range(rank * new, min(rank * new + new, count))
    shard = [float(read(place // old)[place % old]) for place in places]
    return shard + [0.0] * (new - len(shard))


answers.variant({END: "end = min(rank * new + new, count)"})


@answers.right
def number_by_number(read: Any, count: int, wrote: int, rank: int, ranks: int) -> Any:
    old, new, files = -(-count // wrote), -(-count // ranks), {}
    shard = []
    for place in range(rank * new, min(rank * new + new, count)):
        if place // old not in files:
            files[place // old] = read(place // old)
        shard.append(files[place // old][place % old])
    zero = torch.zeros((), dtype=torch.float64)
    return torch.stack(shard + [zero] * (new - len(shard)))


@answers.right
def as_a_list(read: Any, count: int, wrote: int, rank: int, ranks: int) -> Any:
    old, new = -(-count // wrote), -(-count // ranks)
    first, last, found = rank * new, min(rank * new + new, count), []
    for number in range(wrote):
        start, end = max(first, number * old), min(last, number * old + old)
        if start < end:
            found += list(read(number))[start - number * old : end - number * old]
    return found + [0] * (new - len(found))


@answers.right
def as_an_array(read: Any, count: int, wrote: int, rank: int, ranks: int) -> Any:
    return np.array([float(one) for one in as_a_list(read, count, wrote, rank, ranks)])


EXERCISE = Exercise(
    task="Read one rank's shard from the files that another number of ranks has written.",
    reference=reshard_checkpoint,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(lambda one, other: one == other, same_wrong_shards, same_wrong_dtypes),
)

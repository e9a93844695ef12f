"""A checkpoint of shards, read by another number of ranks than wrote it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.sharded_training.checkpoints import reshard_checkpoint


@dataclass(frozen=True)
class ReshardOutcome:
    """An answer's outcome on each of the new ranks."""

    count: int  # numbers in the row, without padding
    # what each rank returned, as lists; in words what was no row of numbers
    shards: tuple[Any, ...]
    read: tuple[tuple[int, ...], ...]  # the files that each rank read, as often as it did
    # of each rank's shard where it is a tensor of another dtype than the files'; "" else
    dtypes: tuple[str, ...]


def cases() -> list[Case]:
    """More ranks, fewer, as many; counts that nothing divides; ranks whose shard is all padding."""
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


def run(answer: Answer, case: Case) -> ReshardOutcome:
    count, wrote, ranks = case.args
    written, shards, every, dtypes = files(count, wrote), [], [], []
    for rank in range(ranks):
        read: list[int] = []

        def file(number: int, read: list[int] = read) -> Tensor:
            if not 0 <= number < wrote:
                raise IndexError(f"there is no file {number}: there are {wrote}, numbered from 0")
            read.append(number)
            return written[number].clone()

        shard = answer(file, count, wrote, rank, ranks)
        shards.append(_numbers(shard))
        every.append(tuple(sorted(read)))
        other = isinstance(shard, Tensor) and shard.dtype != torch.float64
        dtypes.append(str(shard.dtype).removeprefix("torch.") if other else "")
    return ReshardOutcome(count, tuple(shards), tuple(every), tuple(dtypes))


def _numbers(value: Any) -> Any:
    """A tensor, an array, a list or a tuple of numbers as a list; in words what is none."""
    try:
        row = np.array([float(number) for number in value])
    except (TypeError, ValueError):
        return shown(value)
    return row.tolist() if np.ndim(value) == 1 or isinstance(value, list | tuple) else shown(value)


def expected(case: Case) -> ReshardOutcome:
    """The row cut anew."""
    count, wrote, ranks = case.args
    shards = tuple(shard.tolist() for shard in files(count, ranks))
    old, new = -(-count // wrote), -(-count // ranks)
    needed = [
        tuple(n for n in range(wrote) if n * old < min(r * new + new, count) and r * new < n * old +
              old and r * new < count)
        for r in range(ranks)
    ]  # fmt: skip
    return ReshardOutcome(count, shards, tuple(needed), ("",) * ranks)


def difference(got: ReshardOutcome, want: ReshardOutcome) -> str | None:
    for rank, (shard, right) in enumerate(zip(got.shards, want.shards, strict=True)):
        if isinstance(shard, str):
            return f"rank {rank} gets {shard}, expected a row of {len(right)} numbers"
        if shard != right:
            return f"rank {rank} gets {shown(shard)}, expected {shown(right)}"
    for rank, dtype in enumerate(got.dtypes):
        if dtype:
            return f"the numbers are right, but rank {rank} gets {dtype}; the files are float64"
    for rank, (read, needed) in enumerate(zip(got.read, want.read, strict=True)):
        if len(read) > max(1, len(needed)):
            return (
                f"the shards are right, but rank {rank} reads files {shown(list(read))}, "
                f"and {shown(list(needed))} are enough"
            )
    return None


def same_wrong_shards(one: ReshardOutcome, other: ReshardOutcome) -> bool:
    """Whether two answers give the same wrong numbers, whatever they read for them."""
    right = tuple(row.tolist() for row in files(one.count, len(one.shards)))
    return one.shards == other.shards != right


def same_wrong_dtypes(one: ReshardOutcome, other: ReshardOutcome) -> bool:
    """Whether two answers give the same numbers in the same wrong dtypes, whatever they read."""
    return any(one.dtypes) and (one.shards, one.dtypes) == (other.shards, other.dtypes)


EXERCISE = Exercise(
    task="Read one rank's shard from the files that another number of ranks has written.",
    reference=reshard_checkpoint,
    cases=cases,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(lambda one, other: one == other, same_wrong_shards, same_wrong_dtypes),
)

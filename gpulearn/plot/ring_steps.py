"""What each rank holds after each step of a ring all-reduce, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = ["MOST", "RingStep", "ring_steps", "sentence"]

MOST = 5  # ranks that a picture has room for


@dataclass(frozen=True)
class RingStep:
    """A ring after one of its steps.

    Attributes:
        number: how many steps have been done, from 0.
        last: how many there are in all, 2(N−1).
        held: `held[r][c]` are the ranks whose numbers rank r has in its chunk c.
        sent: the chunk that each rank sent to its right in this step; empty at the start.
    """

    number: int
    last: int
    held: tuple[tuple[frozenset[int], ...], ...]
    sent: tuple[int, ...] = ()

    @property
    def ranks(self) -> int:
        """N, how many ranks there are."""
        return len(self.held)

    @property
    def adds(self) -> bool:
        """Whether what arrives is added, as on the first lap, or replaces what was there."""
        return 0 < self.number <= self.last // 2

    @property
    def complete(self) -> int:
        """How many of the N · N chunks hold the sum over all ranks."""
        return sum(len(ranks) == self.ranks for row in self.held for ranks in row)


def ring_steps(ranks: int = 4) -> list[RingStep]:
    """The steps of a ring all-reduce, from the start to the end.

    They are those of `gpulearn.parallel.allreduce.ring_all_reduce`.

    Args:
        ranks: N, from 2 to 5.

    Raises:
        BadInput: there are fewer or more.

    >>> for step in ring_steps(3):
    ...     print(step.sent, step.complete)
    () 0
    (2, 0, 1) 0
    (1, 2, 0) 3
    (0, 1, 2) 6
    (2, 0, 1) 9
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 2 <= ranks <= MOST:
        raise BadInput(f"ranks is {shown(ranks)}: the picture has room for 2 to {MOST}.")
    held = [[frozenset({rank})] * ranks for rank in range(ranks)]
    last = 2 * (ranks - 1)
    found = [RingStep(0, last, _fixed(held))]
    for number in range(1, last + 1):
        adds = number < ranks
        shift = number if adds else number - ranks
        sent = tuple((rank - shift) % ranks for rank in range(ranks))
        before = [list(chunks) for chunks in held]
        for rank, chunk in enumerate(sent):
            right = (rank + 1) % ranks
            own = before[right][chunk] if adds else frozenset()
            held[right][chunk] = before[rank][chunk] | own
        found.append(RingStep(number, last, _fixed(held), sent))
    return found


def _fixed(held: list[list[frozenset[int]]]) -> tuple[tuple[frozenset[int], ...], ...]:
    return tuple(tuple(chunks) for chunks in held)


def sentence(step: RingStep) -> str:
    """What happened in a step, and how far the ring is.

    >>> print(sentence(ring_steps(4)[1]))
    Step 1 of 6: each rank sends one chunk to its right neighbour, which adds it to its own. Rank 0
    sends chunk 3. 0 of 16 chunks hold the whole sum; each rank has sent 1/4 of the tensor.
    """
    n = step.ranks
    if not step.number:
        return (
            f"The start: {n} ranks, and each has cut its tensor into {n} chunks. Every chunk "
            f"holds the numbers of its own rank alone."
        )
    what = "adds it to its own" if step.adds else "puts it in place of its own"
    # the quotient, as the reader counts it: so many chunks of the N of a tensor
    text = (
        f"Step {step.number} of {step.last}: each rank sends one chunk to its right neighbour, "
        f"which {what}. Rank 0 sends chunk {step.sent[0]}. {step.complete} of {n * n} chunks "
        f"hold the whole sum; each rank has sent {step.number}/{n} of the tensor."
    )
    if step.number == step.last // 2:
        text += " The first lap ends: rank r holds chunk r of the sum."
    if step.number == step.last:
        text += " The second lap ends: every rank holds all of the sum."
    return text

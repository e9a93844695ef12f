"""A ring all-reduce, step by step: which chunk goes where, and what each rank holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import box, centred, figure
from gpulearn.require import shown
from gpulearn.tables import Table, table

__all__ = ["ring_player", "ring_table"]

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


SLOT = 0.30  # the side of the square that stands for one rank's numbers
WIDE, HIGH = 3.9, 2.2  # half axes of the ellipse on which the ranks stand


def draw(ranks: int, step: int) -> tuple[Picture, str]:
    """The picture of a ring after `step` steps, and the sentence that says it.

    Each rank is a table: a row for each chunk, a column for each rank whose numbers the chunk
    can hold. Filled squares are what it holds; a row that is complete is hatched.

    Raises:
        BadInput: there are too few or too many ranks, or there is no such step.
    """
    every = ring_steps(ranks)
    if not 0 <= step < len(every):
        raise BadInput(f"There is no step {step}: a ring of {ranks} takes {len(every) - 1}.")
    this = every[step]
    said = sentence(this)
    with figure(9.6, 5.9) as (made, axes):
        places = [_place(rank, ranks) for rank in range(ranks)]
        for rank, place in enumerate(places):
            if this.sent:
                right = (rank + 1) % ranks
                _arrow(axes, place, places[right], this.sent[rank], ranks)
        for rank, place in enumerate(places):
            arrived = this.sent[(rank - 1) % ranks] if this.sent else None
            _rank(axes, place, rank, this, arrived)
        axes.set_xlim(-WIDE - 1.5, WIDE + 1.5)
        axes.set_ylim(-HIGH - 1.35, HIGH + 1.55)
        axes.set_aspect("equal")
        axes.axis("off")
        _legend(made, this)
        return show(made, said), said


def _place(rank: int, ranks: int) -> tuple[float, float]:
    """Where a rank stands: rank 0 at the top, or at the left of two; the others clockwise."""
    angle = math.pi / 2 - 2 * math.pi * rank / ranks + (math.pi / 2 if ranks == 2 else 0)
    return WIDE * math.cos(angle), HIGH * math.sin(angle)


def _rank(
    axes: Any, place: tuple[float, float], rank: int, this: RingStep, arrived: int | None
) -> None:
    n = this.ranks
    left, top = place[0] - n * SLOT / 2, place[1] + n * SLOT / 2
    axes.text(place[0], top + 0.12, f"rank {rank}", ha="center", va="bottom", fontsize=11,
              fontweight="bold", zorder=5)  # fmt: skip
    for chunk in range(n):
        low = top - (chunk + 1) * SLOT
        whole = len(this.held[rank][chunk]) == n
        axes.text(left - 0.08, low + SLOT / 2, str(chunk), ha="right", va="center", fontsize=8,
                  color="0.35", zorder=5)  # fmt: skip
        for other in range(n):
            has = other in this.held[rank][chunk]
            colour = ("C2" if whole else "C0") if has else "white"
            look = {"facecolor": colour, "edgecolor": "white" if has else "0.75"}
            hatch = "////" if whole else ""
            x, y = left + other * SLOT, low + SLOT / 2
            box(axes, x, low, SLOT, SLOT, zorder=3, linewidth=0.8, hatch=hatch, **look)
            if has and not whole:
                centred(axes, x + SLOT / 2, y, str(other), fontsize=8, color="white", zorder=4)
        if chunk == arrived:
            look = {"facecolor": "none", "edgecolor": "C1"}
            box(axes, left - 0.03, low, n * SLOT + 0.06, SLOT, linewidth=2.6, zorder=6, **look)


def _arrow(
    axes: Any, here: tuple[float, float], there: tuple[float, float], chunk: int, ranks: int
) -> None:
    """An arrow between two ranks' tables, which bends outwards round the ring."""
    from matplotlib.patches import FancyArrowPatch

    clear = ranks * SLOT / 2 + 0.32
    bend = -0.18 if ranks > 2 else -0.32
    axes.add_patch(
        FancyArrowPatch(here, there, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>",
                        mutation_scale=18, color="C1", linewidth=2, zorder=2,
                        shrinkA=clear * 58, shrinkB=clear * 58)
    )  # fmt: skip
    dx, dy = there[0] - here[0], there[1] - here[1]
    # the middle of the curve: half of the bend's height away from the chord, on its left
    x = (here[0] + there[0]) / 2 + bend / 2 * dy
    y = (here[1] + there[1]) / 2 - bend / 2 * dx
    frame = {"facecolor": "white", "edgecolor": "C1", "boxstyle": "round,pad=0.2"}
    centred(axes, x, y, f"chunk {chunk}", fontsize=9, zorder=7, bbox=frame)


def _legend(made: Any, this: RingStep) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor="C0", label="holds the numbers of this rank"),
        Patch(facecolor="C2", edgecolor="white", hatch="////", label="a chunk of the whole sum"),
        Patch(facecolor="none", edgecolor="C1", linewidth=2, label="has arrived in this step"),
    ]
    made.legend(handles=patches, loc="outside lower center", ncols=3, fontsize=10)


def ring_player(ranks: int = 4) -> Player:
    """Step through a ring all-reduce: which chunk goes where, and what each rank holds.

    The sliders move with the arrow keys; they and the play button are reached with Tab.

    Args:
        ranks: how many ranks there are at first, from 2 to 5.

    Raises:
        BadInput: there are fewer or more.

    >>> ring_player()
    [interactive figure: Step 1 of 6: each rank sends one chunk to its right neighbour, ...]
    """
    require.package("ipywidgets", "collectives.ring_player")

    def last(ranks: int) -> int:
        return ring_steps(ranks)[0].last

    controls = {"ranks": slider("ranks", ranks, 2, MOST), "step": slider("step", 1, 0, last(ranks))}
    return Player(draw, controls, "step", interval=1500, last=last)


def ring_table(ranks: int = 4) -> Table:
    """What the player shows, without moving anything: a row for each step.

    Raises:
        BadInput: there are fewer than 2 ranks or more than 5.

    >>> ring_table(2)
    step  rank 0 sends  what arrives is  complete chunks
    ----  ------------  ---------------  ---------------
    1     chunk 1       added            2 of 4
    2     chunk 0       put in place     4 of 4
    A ring of 2 ranks.
    """
    rows = [
        {
            "step": step.number,
            "rank 0 sends": f"chunk {step.sent[0]}",
            "what arrives is": "added" if step.adds else "put in place",
            "complete chunks": f"{step.complete} of {ranks * ranks}",
        }
        for step in ring_steps(ranks)[1:]
    ]
    return table(rows, caption=f"A ring of {ranks} ranks.")

"""A ring all-reduce, step by step: which chunk goes where, and what each rank holds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import bare, box, centered, figure, key
from gpulearn.require import shown
from gpulearn.tables import Table, table

MAX_RANKS = 5  # that a picture has room for
SLOT = 0.30  # the side of the square that stands for one rank's numbers
WIDE, HIGH = 3.9, 2.2  # half axes of the ellipse on which the ranks stand
Place = tuple[float, float]


class RingStep(NamedTuple):
    """A ring after a step: which chunk each rank sent, and whose numbers rank r has in chunk c.

    `sent[r]` went to rank r's right, and is missing at the start; `held[r][c]` is a set of ranks.
    """

    sent: list[int]
    held: list[list[frozenset[int]]]

    @property
    def complete(self) -> int:
        """How many of the N · N chunks hold the sum over all ranks."""
        return sum(len(chunk) == len(self.held) for chunks in self.held for chunk in chunks)


def ring_steps(ranks: int) -> list[RingStep]:
    """The steps of `gpulearn.parallel.allreduce.ring_all_reduce`, from the start to the end.

    >>> [(step.sent, step.complete) for step in ring_steps(3)]
    [([], 0), ([2, 0, 1], 0), ([1, 2, 0], 3), ([0, 1, 2], 6), ([2, 0, 1], 9)]
    """
    if type(ranks) is not int or not 2 <= ranks <= MAX_RANKS:
        raise BadInput(f"ranks is {shown(ranks)}: the picture has room for 2 to {MAX_RANKS}.")
    steps = [RingStep([], [[frozenset({rank})] * ranks for rank in range(ranks)])]
    for number in range(1, 2 * ranks - 1):
        adds = number < ranks
        sent = [(rank - number + (0 if adds else ranks)) % ranks for rank in range(ranks)]
        before = steps[-1].held
        held = [list(chunks) for chunks in before]
        for rank, chunk in enumerate(sent):
            right = (rank + 1) % ranks
            own = before[right][chunk] if adds else frozenset()
            held[right][chunk] = before[rank][chunk] | own
        steps.append(RingStep(sent, held))
    return steps


def sentence(ranks: int, number: int) -> str:
    """What happened in step `number`, and how far the ring is.

    >>> print(sentence(4, 1))
    Step 1 of 6: each rank sends one chunk to its right neighbor, which adds it to its own. Rank 0
    sends chunk 3. 0 of 16 chunks hold the whole sum; each rank has sent 1/4 of the tensor.
    """
    step = ring_steps(ranks)[number]
    if not number:
        return (
            f"The start: {ranks} ranks, and each has cut its tensor into {ranks} chunks. Every "
            f"chunk holds the numbers of its own rank only."
        )
    what = "adds it to its own" if number < ranks else "puts it in place of its own"
    end = {
        ranks - 1: " The first lap ends: rank r holds chunk r of the sum.",
        2 * ranks - 2: " The second lap ends: every rank holds all of the sum.",
    }
    return (
        f"Step {number} of {2 * ranks - 2}: each rank sends one chunk to its right neighbor, "
        f"which {what}. Rank 0 sends chunk {step.sent[0]}. {step.complete} of {ranks**2} chunks "
        f"hold the whole sum; each rank has sent {number}/{ranks} of the tensor."
        f"{end.get(number, '')}"
    )


def draw(ranks: int, step: int) -> tuple[Picture, str]:
    """A table for each rank: a row for each chunk, a column for each rank whose numbers it holds.

    Filled squares are what it holds; a row that is complete is hatched. Rank 0 stands at the top,
    or at the left of two; the others follow clockwise.
    """
    sent, held = ring_steps(ranks)[step]
    alt = sentence(ranks, step)
    angles = [math.pi / (1 if ranks == 2 else 2) - 2 * math.pi * r / ranks for r in range(ranks)]
    places = [(WIDE * math.cos(angle), HIGH * math.sin(angle)) for angle in angles]
    with figure(9.6, 5.9) as (fig, axes):
        for rank, chunk in enumerate(sent):
            _arrow(axes, places[rank], places[(rank + 1) % ranks], chunk, ranks)
        for rank, place in enumerate(places):
            _rank(axes, place, rank, held[rank], sent[rank - 1] if sent else None)
        bare(axes, (-WIDE - 1.5, WIDE + 1.5), (-HIGH - 1.35, HIGH + 1.55), aspect="equal")
        looks: dict[str, dict[str, Any]] = {
            "holds the numbers of this rank": {"facecolor": "C0"},
            "a chunk of the whole sum": {
                "facecolor": "C2", "edgecolor": "white", "hatch": "////",
            },
            "has arrived in this step": {
                "facecolor": "none", "edgecolor": "C1", "linewidth": 2,
            },
        }  # fmt: skip
        key(fig, looks)
        return show(fig, alt), alt


def _rank(
    axes: Any, place: Place, rank: int, chunks: list[frozenset[int]], arrived: int | None
) -> None:
    n = len(chunks)
    left, top = place[0] - n * SLOT / 2, place[1] + n * SLOT / 2
    axes.text(place[0], top + 0.12, f"rank {rank}", ha="center", va="bottom", fontsize=11,
              fontweight="bold", zorder=5)  # fmt: skip
    for number, chunk in enumerate(chunks):
        low, complete = top - (number + 1) * SLOT, len(chunk) == n
        middle = low + SLOT / 2
        centered(axes, left - 0.08, middle, str(number), ha="right", fontsize=8, color="0.35",
                 zorder=5)  # fmt: skip
        for other in range(n):
            x, has = left + other * SLOT, other in chunk
            color = ("C2" if complete else "C0") if has else "white"
            box(axes, x, low, SLOT, SLOT, zorder=3, linewidth=0.8, facecolor=color,
                edgecolor="white" if has else "0.75", hatch="////" if complete else "")  # fmt: skip
            if has and not complete:
                text = str(other)
                centered(axes, x + SLOT / 2, middle, text, fontsize=8, color="white", zorder=4)
        if number == arrived:
            box(axes, left - 0.03, low, n * SLOT + 0.06, SLOT, linewidth=2.6, zorder=6,
                facecolor="none", edgecolor="C1")  # fmt: skip


def _arrow(axes: Any, here: Place, there: Place, chunk: int, ranks: int) -> None:
    """An arrow between two ranks' tables, which bends outwards around the ring."""
    from matplotlib.patches import FancyArrowPatch

    bend = -0.18 if ranks > 2 else -0.32
    clear = 58 * (ranks * SLOT / 2 + 0.32)  # points
    axes.add_patch(
        FancyArrowPatch(here, there, connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>",
                        mutation_scale=18, color="C1", linewidth=2, zorder=2,
                        shrinkA=clear, shrinkB=clear)
    )  # fmt: skip
    # the middle of the curve: half of the bend's height away from the chord, on its left
    x = (here[0] + there[0]) / 2 + bend / 2 * (there[1] - here[1])
    y = (here[1] + there[1]) / 2 - bend / 2 * (there[0] - here[0])
    frame = {"facecolor": "white", "edgecolor": "C1", "boxstyle": "round,pad=0.2"}
    centered(axes, x, y, f"chunk {chunk}", fontsize=9, zorder=7, bbox=frame)


def ring_player(ranks: int = 4) -> Player:
    """Step through a ring all-reduce of 2 to 5 ranks: which chunk goes where, and who holds what.

    >>> ring_player()
    [interactive figure: Step 1 of 6: each rank sends one chunk to its right neighbor, ...]
    """
    last = len(ring_steps(ranks)) - 1
    controls = {"ranks": slider("ranks", ranks, 2, MAX_RANKS), "step": slider("step", 1, 0, last)}
    return Player(draw, controls, "step", interval=1500, last=lambda ranks: 2 * ranks - 2)


def ring_table(ranks: int = 4) -> Table:
    """What the player shows, without moving anything: a row for each step.

    >>> ring_table(2)
    step  rank 0 sends  what arrives is  complete chunks
    ----  ------------  ---------------  ---------------
    1     chunk 1       added            2 of 4
    2     chunk 0       put in place     4 of 4
    A ring of 2 ranks.
    """
    rows = [
        {
            "step": number,
            "rank 0 sends": f"chunk {step.sent[0]}",
            "what arrives is": "added" if number < ranks else "put in place",
            "complete chunks": f"{step.complete} of {ranks**2}",
        }
        for number, step in enumerate(ring_steps(ranks))
        if number
    ]
    return table(rows, caption=f"A ring of {ranks} ranks.")

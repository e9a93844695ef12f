"""The ring player: step by step, chunks move round a ring of ranks and become sums."""

from __future__ import annotations

import math
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.ring_steps import MOST, RingStep, ring_steps, sentence
from gpulearn.plot.style import figure
from gpulearn.tables import Table, table

__all__ = ["draw", "ring_player", "ring_table"]

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
    from matplotlib.patches import Rectangle

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
            axes.add_patch(
                Rectangle((left + other * SLOT, low), SLOT, SLOT, facecolor=colour, zorder=3,
                          edgecolor="0.75" if not has else "white", linewidth=0.8,
                          hatch="////" if whole else "")
            )  # fmt: skip
            if has and not whole:
                axes.text(left + (other + 0.5) * SLOT, low + SLOT / 2, str(other), ha="center",
                          va="center", fontsize=8, color="white", zorder=4)  # fmt: skip
        if chunk == arrived:
            axes.add_patch(
                Rectangle((left - 0.03, low), n * SLOT + 0.06, SLOT, facecolor="none",
                          edgecolor="C1", linewidth=2.6, zorder=6)
            )  # fmt: skip


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
    box = {"facecolor": "white", "edgecolor": "C1", "boxstyle": "round,pad=0.2"}
    axes.text(x, y, f"chunk {chunk}", ha="center", va="center", fontsize=9, zorder=7, bbox=box)


def _legend(made: Any, this: RingStep) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor="C0", label="holds the numbers of this rank"),
        Patch(facecolor="C2", edgecolor="white", hatch="////", label="a chunk of the whole sum"),
        Patch(facecolor="none", edgecolor="C1", linewidth=2, label="has arrived in this step"),
    ]
    made.legend(handles=patches, loc="outside lower center", ncols=3, fontsize=10)


def ring_player(ranks: int = 4) -> Explorer:
    """Step through a ring all-reduce: which chunk goes where, and what each rank holds.

    The sliders move with the arrow keys; they and the play button are reached with Tab.

    Args:
        ranks: how many ranks there are at first, from 2 to 5.

    Raises:
        BadInput: there are fewer or more.

    >>> ring_player()
    [interactive figure: Step 1 of 6: each rank sends one chunk to its right neighbour, ...]
    """
    widgets = require.package("ipywidgets", "gl.plot.ring_player")
    last = len(ring_steps(ranks)) - 1
    count = widgets.IntSlider(value=ranks, min=2, max=MOST, description="ranks")
    step = widgets.IntSlider(value=1, min=0, max=last, description="step")
    play = widgets.Play(value=1, min=0, max=last, interval=1500, description="play")
    widgets.jslink((play, "value"), (step, "value"))

    def fit(change: Any) -> None:
        step.value = play.value = 1  # every ring has a first step
        step.max = play.max = 2 * (count.value - 1)

    count.observe(fit, names="value")  # before the explorer's own, which draws
    made = Explorer(draw, {"ranks": count, "step": step})
    made.widget.children = (widgets.HBox([play]), *made.widget.children)
    return made


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

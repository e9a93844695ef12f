"""A step of sharded training, moment by moment: what each rank holds, whole or in a shard."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import box, centred, figure
from gpulearn.require import shown
from gpulearn.tables import Table, table

__all__ = ["shard_player", "shard_table"]

RANKS, BLOCKS = 4, 3
STAGES = {0: "nothing", 1: "the state", 2: "state and gradients", 3: "all three"}
BYTES = {"weights": 4, "gradients": 4, "state": 8}  # of a float32 parameter with Adam


@dataclass(frozen=True)
class Moment:
    """What a rank holds of each block, as a part of it: 0, 1/N or 1.

    Attributes:
        doing: what has just been done.
        block: with which block, from 1; 0 for all.
        weights: of each block.
        gradients: of each block.
        state: of each block.
    """

    doing: str
    block: int
    weights: tuple[float, ...]
    gradients: tuple[float, ...]
    state: tuple[float, ...]

    @property
    def bytes(self) -> float:
        """Bytes for each parameter of the model."""
        parts = (self.weights, self.gradients, self.state)
        sizes = zip(BYTES.values(), parts, strict=True)
        return sum(size * sum(held) for size, held in sizes) / BLOCKS


def moments(stage: int) -> list[Moment]:
    """A training step of 4 ranks with 3 blocks, from moment to moment.

    Args:
        stage: 0 (plain data parallelism) to 3.

    Raises:
        BadInput: there is no such stage.

    >>> [max(moment.bytes for moment in moments(stage)) for stage in range(4)]
    [16.0, 10.0, 8.0, 6.0]
    """
    if type(stage) is not int or stage not in STAGES:
        raise BadInput(f"stage is {shown(stage)}: give 0, 1, 2 or 3.")
    part = 1 / RANKS
    now = Moment(
        "start",
        0,
        (part if stage == 3 else 1.0,) * BLOCKS,
        (0.0,) * BLOCKS,
        (part if stage >= 1 else 1.0,) * BLOCKS,
    )
    found = [now]

    def then(doing: str, number: int, **held: float) -> None:
        nonlocal now
        changed = {}
        for name, value in held.items():
            each = list(getattr(now, name))
            each[number - 1] = value
            changed[name] = tuple(each)
        now = replace(now, doing=doing, block=number, **changed)
        found.append(now)

    for number in range(1, BLOCKS + 1):
        if stage == 3:
            then("gather", number, weights=1.0)
        then("forward", number)
        if stage == 3:
            then("free", number, weights=part)
    for number in range(BLOCKS, 0, -1):
        if stage == 3:
            then("gather", number, weights=1.0)
        then("backward", number, gradients=1.0)
        if stage == 3:
            then("free", number, weights=part)
        if stage >= 2:
            then("reduce-scatter", number, gradients=part)
    gone = (0.0,) * BLOCKS
    found.append(replace(now, doing="exchange and step", block=0, gradients=gone))
    return found


TOLD = {
    "start": "before forward",
    "gather": "the weights of block {} are gathered from all ranks",
    "forward": "block {} goes forward",
    "free": "the weights of block {} are freed, all but the own shard",
    "backward": "block {} goes backward, and has its whole gradient",
    "reduce-scatter": "the gradient of block {} is reduce-scattered, and a shard of it stays",
    "exchange and step": "the ranks have exchanged what is left, and the optimiser has stepped",
}


def sentence(stage: int, step: int) -> str:
    """What happened, what a rank holds now, and when it holds most.

    >>> print(sentence(3, 1))
    Stage 3 cuts all three. Moment 1 of 22: the weights of block 1 are gathered from all ranks. A
    rank holds 4 bytes for each parameter now, and at most 6 (moment 19).
    """
    every = moments(stage)
    this, sizes = every[step], [moment.bytes for moment in every]
    peak = max(sizes)
    return (
        f"Stage {stage} cuts {STAGES[stage]}. Moment {step} of {len(every) - 1}: "
        f"{TOLD[this.doing].format(this.block)}. A rank holds {this.bytes:.3g} bytes for each "
        f"parameter now, and at most {peak:.3g} (moment {sizes.index(peak)})."
    )


COLOURS = {"weights": "C0", "gradients": "C1", "state": "C2"}
WIDE, HIGH = 0.9, 0.6  # of the box of 4 bytes for each parameter of a block


def draw(stage: int, step: int) -> tuple[Picture, str]:
    """The picture of a moment, and the sentence that says it.

    Above, a line of boxes for each rank: weights, gradients and state of each block, cut into
    as many parts as there are ranks, filled where the rank has the part; one that is whole is
    hatched. Below, what a rank holds from moment to moment.

    Raises:
        BadInput: there is no such stage or moment.
    """
    every = moments(stage)
    if not 0 <= step < len(every):
        raise BadInput(f"There is no moment {step}: stage {stage} takes {len(every) - 1}.")
    said = sentence(stage, step)
    grid = {"height_ratios": [1.6, 1]}
    with figure(9.6, 6.4, 2, 1, gridspec_kw=grid) as (made, (above, below)):
        _ranks(above, every[step])
        _course(below, every, step)
        return show(made, said), said


def _ranks(axes: Any, this: Moment) -> None:
    between = 0.5
    block_wide = WIDE * sum(BYTES.values()) / 4 + between
    for number in range(BLOCKS):
        left = number * block_wide
        busy = this.block == number + 1
        word = f"block {number + 1}" + (f": {this.doing}" if busy else "")
        weight = "bold" if busy else "normal"
        middle = left + (block_wide - between) / 2
        centred(axes, middle, 0.6, word, fontweight=weight, fontsize=11)
        for name, size in BYTES.items():
            wide = WIDE * size / 4
            centred(axes, left + (wide - 0.12) / 2, 0.08, name, fontsize=9)
            for rank in range(RANKS):
                _parts(axes, left, -(rank + 1) * HIGH * 1.25, wide, name,
                       getattr(this, name)[number], rank)  # fmt: skip
            left += wide
    for rank in range(RANKS):
        axes.text(-0.15, -(rank + 1) * HIGH * 1.25 + HIGH / 2, f"rank {rank}", ha="right",
                  va="center", fontsize=11)  # fmt: skip
    end = BLOCKS * block_wide - between
    low = -RANKS * HIGH * 1.25
    centred(axes, end / 2, low - 0.25, "hatched: whole; plain: this rank's shard; white: not here",
            fontsize=9)  # fmt: skip
    axes.set_xlim(-1.1, end + 0.1)
    axes.set_ylim(low - 0.4, 0.8)
    axes.axis("off")


def _parts(
    axes: Any, left: float, low: float, wide: float, name: str, held: float, rank: int
) -> None:
    each = (wide - 0.12) / RANKS
    for part in range(RANKS):
        has = held == 1 or (held > 0 and part == rank)
        look = {
            "facecolor": COLOURS[name] if has else "white",
            "edgecolor": "white" if has else "0.8",
            "hatch": "////" if held == 1 else "",
        }
        box(axes, left + part * each, low, each, HIGH, linewidth=0.6, **look)


def _course(axes: Any, every: list[Moment], step: int) -> None:
    from matplotlib.patches import Patch

    sizes = [moment.bytes for moment in every]
    peak = sizes.index(max(sizes))
    bottom = [0.0] * len(every)
    for name, size in BYTES.items():
        parts = [size * sum(getattr(moment, name)) / BLOCKS for moment in every]
        axes.bar(range(len(every)), parts, bottom=bottom, color=COLOURS[name], width=0.8)
        bottom = [low + more for low, more in zip(bottom, parts, strict=True)]
    axes.axvspan(step - 0.5, step + 0.5, color="0.5", alpha=0.25, zorder=0)
    axes.axhline(max(sizes), color="0.3", linestyle=":", linewidth=1.2)
    axes.annotate(f"peak {max(sizes):.3g}", (peak, max(sizes)), xytext=(0, 4),
                  textcoords="offset points", ha="center", va="bottom", fontsize=10)  # fmt: skip
    axes.set_ylim(0, 26)  # above 18 stands the legend
    axes.set_xlim(-0.6, len(every) - 0.4)
    axes.set_xlabel("moment")
    axes.set_ylabel("bytes a parameter")
    patches = [Patch(facecolor=colour, label=name) for name, colour in COLOURS.items()]
    axes.legend(handles=patches, loc="upper left", ncols=3, frameon=False, fontsize=9,
                title="from the bottom", alignment="left")  # fmt: skip


def shard_player(stage: int = 3) -> Player:
    """Step through a training step of 4 ranks: what each holds of weights, gradients and state.

    The sliders move with the arrow keys; they and the play button are reached with Tab.

    Args:
        stage: which is shown at first, 0 (plain data parallelism) to 3.

    Raises:
        BadInput: there is no such stage.

    >>> shard_player()
    [interactive figure: Stage 3 cuts all three. Moment 19 of 22: block 1 goes backward, ...]
    """
    require.package("ipywidgets", "sharded_training.shard_player")
    every = moments(stage)
    sizes = [moment.bytes for moment in every]

    def last(stage: int) -> int:
        return len(moments(stage)) - 1

    first = slider("moment", sizes.index(max(sizes)), 0, len(every) - 1)
    controls = {"stage": slider("stage", stage, 0, 3), "step": first}
    return Player(draw, controls, "step", interval=1200, last=last)


def shard_table() -> Table:
    """What the player shows, without moving anything: a row for each stage.

    >>> shard_table()
    stage  is cut               at the start  at most  when
    -----  -------------------  ------------  -------  ----------------
    0      nothing              12            16       backward block 1
    1      the state            6             10       backward block 1
    2      state and gradients  6             8        backward block 1
    3      all three            3             6        backward block 1
    Bytes that one of 4 ranks holds for each parameter: float32, Adam, 3 blocks.
    """
    rows = []
    for stage, cut in STAGES.items():
        every = moments(stage)
        peak = max(every, key=lambda moment: moment.bytes)
        rows.append(
            {
                "stage": stage,
                "is cut": cut,
                "at the start": f"{every[0].bytes:.3g}",
                "at most": f"{peak.bytes:.3g}",
                "when": f"{peak.doing} block {peak.block}",
            }
        )
    caption = "Bytes that one of 4 ranks holds for each parameter: float32, Adam, 3 blocks."
    return table(rows, caption=caption)

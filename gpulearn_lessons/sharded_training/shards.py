"""A step of sharded training, moment by moment: what each rank holds, whole or in a shard."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, slider
from gpulearn.plot.style import bare, box, centered, figure, key, note
from gpulearn.require import shown

RANKS, BLOCKS = 4, 3
STAGES = {0: "nothing", 1: "the state", 2: "state and gradients", 3: "all three"}
BYTES = {"weights": 4, "gradients": 4, "state": 8}  # of a float32 parameter with Adam
COLORS = {"weights": "C0", "gradients": "C1", "state": "C2"}
WIDE, HIGH = 0.9, 0.6  # of the box of 4 bytes for each parameter of a block
SENTENCES = {
    "start": "before the forward pass",
    "gather": "the weights of block {} are gathered from all ranks",
    "forward": "the forward pass of block {}",
    "free": "the weights of block {} are freed, except this rank's shard",
    "backward": "the backward pass of block {} has computed its full gradient",
    "reduce-scatter": "the gradient of block {} is reduce-scattered, and only a shard remains",
    "exchange and step": "the ranks have exchanged the rest, and the optimizer has stepped",
}


class Moment(NamedTuple):
    """What has just been done with a block, counted from 1 (0 is all), and what a rank then holds.

    `held` maps weights, gradients and state to the part that the rank has of each block: 0, 1/N
    or 1.
    """

    doing: str
    block: int
    held: dict[str, list[float]]

    @property
    def parts(self) -> dict[str, float]:
        """Bytes for each parameter of the model, of weights, gradients and state."""
        return {name: size * sum(self.held[name]) / BLOCKS for name, size in BYTES.items()}

    @property
    def bytes(self) -> float:
        """Bytes for each parameter of the model."""
        return sum(self.parts.values())


def moments(stage: int) -> list[Moment]:
    """A training step of 4 ranks with 3 blocks; stage 0 (plain data parallelism) to 3.

    >>> [max(moment.bytes for moment in moments(stage)) for stage in range(4)]
    [16.0, 10.0, 8.0, 6.0]
    """
    if type(stage) is not int or stage not in STAGES:
        raise BadInput(f"stage is {shown(stage)}: give 0, 1, 2 or 3.")
    shard = 1 / RANKS
    first = {
        "weights": [shard if stage == 3 else 1.0] * BLOCKS,
        "gradients": [0.0] * BLOCKS,
        "state": [shard if stage >= 1 else 1.0] * BLOCKS,
    }
    steps = [Moment("start", 0, first)]

    def then(doing: str, block: int, name: str = "weights", part: float | None = None) -> None:
        held = {key: list(parts) for key, parts in steps[-1].held.items()}
        if part is not None:
            held[name][block - 1] = part
        steps.append(Moment(doing, block, held))

    def compute(doing: str, block: int, part: float | None = None) -> None:
        """Go through a block, with its weights whole for as long as that takes."""
        if stage == 3:
            then("gather", block, part=1.0)
        then(doing, block, "gradients", part)
        if stage == 3:
            then("free", block, part=shard)

    for block in range(1, BLOCKS + 1):
        compute("forward", block)
    for block in range(BLOCKS, 0, -1):
        compute("backward", block, 1.0)
        if stage >= 2:
            then("reduce-scatter", block, "gradients", shard)
    steps.append(Moment("exchange and step", 0, steps[-1].held | {"gradients": [0.0] * BLOCKS}))
    return steps


def sentence(stage: int, step: int) -> str:
    """What happened, what a rank holds now, and when it holds most.

    >>> print(sentence(3, 1))
    Stage 3 shards all three. Moment 1 of 22: the weights of block 1 are gathered from all ranks. A
    rank holds 4 bytes for each parameter now, and at most 6 (moment 19).
    """
    steps = moments(stage)
    now, sizes = steps[step], [moment.bytes for moment in steps]
    peak = max(sizes)
    return (
        f"Stage {stage} shards {STAGES[stage]}. Moment {step} of {len(steps) - 1}: "
        f"{SENTENCES[now.doing].format(now.block)}. A rank holds {now.bytes:.3g} bytes for each "
        f"parameter now, and at most {peak:.3g} (moment {sizes.index(peak)})."
    )


def draw(stage: int, step: int) -> tuple[Picture, str]:
    """The picture of a moment, and the sentence that says it.

    Above, a line of boxes for each rank: weights, gradients and state of each block, cut into
    as many parts as there are ranks, filled where the rank has the part; one that is whole is
    hatched. Below, what a rank holds from moment to moment.
    """
    steps, alt = moments(stage), sentence(stage, step)
    grid = {"height_ratios": [1.6, 1]}
    with figure(9.6, 6.4, 2, 1, gridspec_kw=grid) as (fig, (above, below)):
        _ranks(above, steps[step])
        _bytes_over_time(below, steps, step)
        return show(fig, alt), alt


def _ranks(axes: Any, now: Moment) -> None:
    gap, line = 0.5, HIGH * 1.25
    block_wide = WIDE * sum(BYTES.values()) / 4 + gap
    for number in range(BLOCKS):
        left = number * block_wide
        busy = now.block == number + 1
        word = f"block {number + 1}" + (f": {now.doing}" if busy else "")
        weight = "bold" if busy else "normal"
        centered(axes, left + (block_wide - gap) / 2, 0.6, word, fontweight=weight, fontsize=11)
        for name, size in BYTES.items():
            wide = WIDE * size / 4 - 0.12
            centered(axes, left + wide / 2, 0.08, name, fontsize=9)
            for rank in range(RANKS):
                held = now.held[name][number]
                for part in range(RANKS):
                    has = held == 1 or (held > 0 and part == rank)
                    look = {
                        "facecolor": COLORS[name] if has else "white",
                        "edgecolor": "white" if has else "0.8",
                        "hatch": "////" if held == 1 else "",
                    }
                    each = wide / RANKS
                    box(axes, left + part * each, -(rank + 1) * line, each, HIGH, linewidth=0.6,
                        **look)  # fmt: skip
            left += WIDE * size / 4
    for rank in range(RANKS):
        y = -(rank + 1) * line + HIGH / 2
        centered(axes, -0.15, y, f"rank {rank}", ha="right", fontsize=11)
    end, low = BLOCKS * block_wide - gap, -RANKS * line
    centered(axes, end / 2, low - 0.25, "hatched: whole; plain: this rank's shard; white: not here",
             fontsize=9)  # fmt: skip
    bare(axes, (-1.1, end + 0.1), (low - 0.4, 0.8))


def _bytes_over_time(axes: Any, steps: list[Moment], step: int) -> None:
    sizes = [moment.bytes for moment in steps]
    most = max(sizes)
    bottom = [0.0] * len(steps)
    for name in BYTES:
        parts = [moment.parts[name] for moment in steps]
        axes.bar(range(len(steps)), parts, bottom=bottom, color=COLORS[name], width=0.8)
        bottom = [low + more for low, more in zip(bottom, parts, strict=True)]
    axes.axvspan(step - 0.5, step + 0.5, color="0.5", alpha=0.25, zorder=0)
    axes.axhline(most, color="0.3", linestyle=":", linewidth=1.2)
    note(axes, f"peak {most:.3g}", (sizes.index(most), most), (0, 4), ha="center", va="bottom",
         fontsize=10)  # fmt: skip
    axes.set(ylim=(0, 26), xlim=(-0.6, len(steps) - 0.4))  # above 18 stands the legend
    axes.set(xlabel="moment", ylabel="bytes per parameter")
    key(axes, {name: {"facecolor": color} for name, color in COLORS.items()}, loc="upper left",
        frameon=False, fontsize=9, title="from the bottom", alignment="left")  # fmt: skip


def shard_player(stage: int = 3) -> Player:
    """Step through a training step of 4 ranks: what each holds of weights, gradients and state.

    Args:
        stage: which is shown at first, 0 (plain data parallelism) to 3.

    >>> shard_player()
    [interactive figure: Stage 3 shards all three. Moment 19 of 22: the backward pass of ...]
    """
    sizes = [moment.bytes for moment in moments(stage)]
    controls = {
        "stage": slider("stage", stage, 0, 3),
        "step": slider("moment", sizes.index(max(sizes)), 0, len(sizes) - 1),
    }
    return Player(draw, controls, "step", interval=1200, last=lambda stage: len(moments(stage)) - 1)

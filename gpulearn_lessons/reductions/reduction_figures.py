"""A block's sum, round by round: which thread adds what, and which lanes are active or idle."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gpulearn.display import Picture, show
from gpulearn.plot.controls import Player, dropdown, slider
from gpulearn.plot.style import boxes, centered, figure
from gpulearn.require import counted
from simt.observers.traffic import BANKS, WARP

# the four forms of gpulearn.kernels.reduction
FORMS = {
    "interleaved": "interleaved: thread t adds where t is a multiple of 2·step",
    "packed": "packed: the same tree, added by the first threads",
    "sequential": "sequential: the first half of the threads adds the second half",
    "shuffle": "shuffle: from register to register, within a warp",
}
THREADS = 64  # two warps: enough to see one of them fall idle


@dataclass(frozen=True)
class Round:
    """One round: `adds` holds (thread, into, from) for each active thread.

    `into` and `from` are positions in shared memory; in a shuffle, threads whose registers they
    are, and `from` is the thread itself where the warp ends. `useful` holds the threads whose
    result enters the block's sum.
    """

    step: int
    adds: tuple[tuple[int, int, int], ...]
    useful: frozenset[int]
    by_shuffle: bool = False

    @property
    def active(self) -> frozenset[int]:
        """The threads that add."""
        return frozenset(thread for thread, _, _ in self.adds)

    @property
    def warps(self) -> int:
        """How many warps have an active lane."""
        return len({thread // WARP for thread in self.active})

    @property
    def passes(self) -> int:
        """The most passes that one warp's read needs: different words of one bank queue up."""
        if self.by_shuffle:
            return 0
        return max(Counter((t // WARP, into % BANKS) for t, into, _ in self.adds).values())


def rounds(form: str, threads: int = THREADS) -> list[Round]:
    """The rounds in which a block of `threads` threads, a power of two, adds up as many values.

    >>> [len(r.adds) for r in rounds("sequential")]
    [32, 16, 8, 4, 2, 1]
    >>> [r.warps for r in rounds("interleaved")]
    [2, 2, 2, 2, 2, 1]
    """
    if form == "shuffle":
        within = [_shuffle(step, range(threads), WARP) for step in (16, 8, 4, 2, 1)]
        of_sums = [_shuffle(step, range(WARP), threads // WARP) for step in (16, 8, 4, 2, 1)]
        return within + of_sums
    steps = [1 << k for k in range(threads.bit_length() - 1)]
    tree = []
    for step in reversed(steps) if form == "sequential" else steps:
        starts = range(step) if form == "sequential" else range(0, threads, 2 * step)
        adds = tuple(
            (number if form == "packed" else place, place, place + step)
            for number, place in enumerate(starts)
        )
        tree.append(Round(step, adds, frozenset(thread for thread, _, _ in adds)))
    return tree


def _shuffle(step: int, threads: range, holders: int) -> Round:
    """All lanes add; the sums of the first `step` of the first `holders` lanes are used."""
    adds = [(t, t, t + step if t % WARP + step < WARP else t) for t in threads]
    used = (t for t in threads if t % WARP < step and t % WARP + step < holders)
    return Round(step, tuple(adds), frozenset(used), by_shuffle=True)


def holdings(form: str, number: int, threads: int = THREADS) -> list[int]:
    """How many values each position has summed up before round `number`, counted from 0.

    Positions whose content is no longer needed hold 0.

    >>> holdings("sequential", 5)[:3]
    [32, 32, 0]
    """
    held = [1] * threads
    for k, this in enumerate(rounds(form, threads)):
        if this.by_shuffle and k == 5:  # past the barrier: warp 0 holds the warps' sums
            sums = held[::WARP]
            held = sums + [0] * (threads - len(sums))
        if k == number:
            break
        old = list(held)
        for thread, into, other in this.adds:
            if thread in this.useful:
                held[into], held[other] = old[into] + old[other], 0
        if this.by_shuffle and this.useful:  # the sums in the other lanes are not needed
            held = [n if t in this.useful else 0 for t, n in enumerate(held)]
    return held


def sentence(form: str, number: int) -> str:
    """What happens in round `number`, counted from 0, and what it costs.

    >>> sentence("interleaved", 2)
    'interleaved, round 3 of 6: 8 additions of values 4 apart keep 2 warps busy
    with 4 of 32 lanes each. No bank conflict.'
    """
    every = rounds(form)
    this = every[number]
    lanes = len(this.active) // this.warps
    busy = f"{counted(this.warps, 'warp')} busy with {lanes} of 32 lanes"
    busy += " each" * (this.warps > 1)
    start = f"{form}, round {number + 1} of {len(every)}: "
    if this.by_shuffle:
        use = (
            f"{len(this.useful)} of the sums {'is' if len(this.useful) == 1 else 'are'} used later"
        )
        if not this.useful:
            use = "no warp's sum is that far away"
        return f"{start}a shuffle by {this.step} keeps {busy}; {use}. No shared memory is touched."
    count = len(this.adds)
    cost = "No bank conflict."
    if this.passes > 1:
        cost = f"A read takes {this.passes} passes: words share a bank."
    return (
        f"{start}{counted(count, 'addition')} of values {this.step} apart "
        f"keep{'s' * (count == 1)} {busy}. {cost}"
    )


def draw(form: str, number: int) -> tuple[Picture, str]:
    """The picture of one round, counted from 1, and the sentence that describes it.

    Above, the sums before the round (each box says how many of the 64 values it contains) and
    which thread adds what; below, the active lanes of every round.
    """
    every, alt = rounds(form), sentence(form, number - 1)
    ratios = [1.0, 0.16 * len(every) + 0.35]
    with figure(8.6, 4.6, rows=2, height_ratios=ratios) as (fig, (above, below)):
        _additions(above, every[number - 1], holdings(form, number - 1))
        _lanes(below, every, number - 1)
    return show(fig, alt), alt


def _additions(axes: Any, this: Round, held: list[int]) -> None:
    corners = [(place - 0.46, 1) for place in range(len(held))]
    looks = [("C0", 0.9) if count else ("none", 0.5) for count in held]
    boxes(axes, corners, (0.92, 0.55), looks, edge="0.55", linewidth=0.7)
    for place, count in enumerate(held):
        centered(axes, place, 1.27, str(count or ""), fontsize=7, color="white")
    for thread, into, other in this.adds:
        useful = thread in this.useful
        line = {"color": "C1", "linewidth": 1.2} if useful else {"color": "0.75", "linewidth": 0.6}
        for place in {into, other}:
            axes.plot([place, thread], [0.98, 0.32], zorder=2 if useful else 1, **line)
        color = "C1" if useful else "0.6"
        centered(axes, thread, 0.12, "+", fontsize=10, color=color, fontweight="bold")
    where = "registers" if this.by_shuffle else "shared memory"
    axes.set_yticks([0.12, 1.27], ["thread", where])
    _frame(axes, f"this round, step {this.step}: each box says how many values its sum contains",
           (-0.15, 1.65))  # fmt: skip
    axes.set_xticks([])


def _lanes(axes: Any, every: list[Round], number: int) -> None:
    corners, looks = [], []
    for row, this in enumerate(every):
        filled = ("C1", 0.4 if row > number else 1.0)
        for thread in range(THREADS):
            corners.append((thread - 0.42, row - 0.36))
            looks.append(filled if thread in this.active else ("none", 1.0))
    boxes(axes, corners, (0.84, 0.72), looks, edge="0.6", linewidth=0.5)
    labels = [f"► {k + 1}" if k == number else str(k + 1) for k in range(len(every))]
    axes.set_yticks(range(len(every)), labels)
    axes.set_ylabel("round")
    axes.set_xticks([0, 8, 16, 24, 31, 32, 40, 48, 56, 63],
                    ["0", "8", "16", "24", "31", "", "40", "48", "56", "63"])  # fmt: skip
    axes.set_xlabel("thread: warp 0 on the left of the dashed line, warp 1 on the right")
    _frame(axes, "active lanes (filled) and idle lanes (hollow) in every round",
           (len(every) - 0.4, -0.6))  # fmt: skip


def _frame(axes: Any, title: str, ylim: tuple[float, float]) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set(xlim=(-0.8, THREADS - 0.2), ylim=ylim)
    axes.axvline(WARP - 0.5, color="0.3", linestyle="--", linewidth=1)
    axes.grid(visible=False)
    axes.tick_params(labelsize=9)


def reduction_player() -> Player:
    """Step through a block's sum of 64 values: interleaved, packed, sequential, by shuffles.

    >>> reduction_player()
    [interactive figure: interleaved, round 1 of 6: 32 additions of values 1 apart ...]
    """
    options = [(name, form) for form, name in FORMS.items()]
    controls = {
        "form": dropdown("form", options, "interleaved", layout={"width": "38em"}),
        "number": slider("round", 1, 1, len(rounds("interleaved"))),
    }
    return Player(draw, controls, "number", interval=1200, last=lambda form: len(rounds(form)))

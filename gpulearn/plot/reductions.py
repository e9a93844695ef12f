"""The reduction-tree player: round after round, which lanes add and which are idle."""

from __future__ import annotations

from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.reduction_tree import FORMS, Round, holdings, rounds, sentence
from gpulearn.plot.style import figure

__all__ = ["draw", "reduction_player"]

THREADS = 64  # two warps: enough to see one of them fall idle
WARP = 32
NAMES = {
    "interleaved": "interleaved: thread t adds where t is a multiple of 2·step",
    "packed": "packed: the same tree, added by the first threads",
    "sequential": "sequential: the first half adds the second half",
    "shuffle": "shuffle: from register to register within a warp",
}


def draw(form: str, number: int) -> tuple[Picture, str]:
    """The picture of one round, counted from 1, and the sentence that says it.

    Above, the values before the round (each box says how many of the 64 it has summed up) and
    who adds what; below, the active lanes of every round.

    Raises:
        BadInput: there is no such form or round.
    """
    every = rounds(form, THREADS)
    if not 1 <= number <= len(every):
        raise BadInput(f"There is no round {number}: {form} takes {len(every)}.")
    this = every[number - 1]
    said = sentence(form, number - 1, THREADS)
    with figure(11.0, 4.6) as (made, axes):
        axes.remove()
        above, below = made.subplots(2, 1, height_ratios=[1.0, 0.16 * len(every) + 0.35])
        _additions(above, this, holdings(form, number - 1, THREADS))
        _lanes(below, every, number - 1)
    return show(made, said), said


def _additions(axes: Any, this: Round, held: list[int]) -> None:
    from matplotlib.patches import Rectangle

    for place, count in enumerate(held):
        full = count > 0
        axes.add_patch(
            Rectangle((place - 0.46, 1), 0.92, 0.55, facecolor="C0" if full else "none",
                      edgecolor="0.55", alpha=0.9 if full else 0.5, linewidth=0.7)
        )  # fmt: skip
        axes.text(place, 1.27, str(count) if full else "", ha="center", va="center",
                  fontsize=7, color="white")  # fmt: skip
    for thread, into, other in this.adds:
        useful = thread in this.useful
        look = {"color": "C1", "linewidth": 1.2} if useful else {"color": "0.75", "linewidth": 0.6}
        for place in {into, other}:
            axes.plot([place, thread], [0.98, 0.32], zorder=2 if useful else 1, **look)
        axes.text(thread, 0.12, "+", ha="center", va="center", fontsize=10,
                  color="C1" if useful else "0.6", fontweight="bold")  # fmt: skip
    where = "registers" if this.by_shuffle else "shared memory"
    axes.set_yticks([0.12, 1.27], ["thread", where])
    axes.set_title(
        f"this round: step {this.step}; a box says how many values it has summed up",
        loc="left", fontsize=11,
    )  # fmt: skip
    _frame(axes, -0.15, 1.65)


def _lanes(axes: Any, every: list[Round], number: int) -> None:
    from matplotlib.patches import Rectangle

    for row, one in enumerate(every):
        for thread in range(THREADS):
            on = thread in one.active
            axes.add_patch(
                Rectangle((thread - 0.42, row - 0.36), 0.84, 0.72,
                          facecolor="C1" if on else "none", edgecolor="0.6", linewidth=0.5,
                          alpha=1.0 if row <= number or not on else 0.4)
            )  # fmt: skip
    labels = [f"► {k + 1}" if k == number else str(k + 1) for k in range(len(every))]
    axes.set_yticks(range(len(every)), labels)
    axes.set_ylabel("round")
    axes.set_title("active lanes (filled) and idle lanes (hollow) in every round", loc="left",
                   fontsize=11)  # fmt: skip
    axes.set_xticks([0, 8, 16, 24, 31, 32, 40, 48, 56, 63],
                    ["0", "8", "16", "24", "31", "", "40", "48", "56", "63"])  # fmt: skip
    axes.set_xlabel("thread: warp 0 on the left of the dashed line, warp 1 on the right")
    _frame(axes, len(every) - 0.4, -0.6)


def _frame(axes: Any, low: float, high: float) -> None:
    axes.set_xlim(-0.8, THREADS - 0.2)
    axes.set_ylim(low, high)
    axes.axvline(WARP - 0.5, color="0.3", linestyle="--", linewidth=1)
    axes.grid(visible=False)
    axes.tick_params(labelsize=9)
    if high > low:
        axes.set_xticks([])


def reduction_player() -> Explorer:
    """Step through a block's sum of 64 values: interleaved, packed, sequential, by shuffles.

    The slider moves with the arrow keys; the list and the play button are reached with Tab.

    >>> reduction_player()
    [interactive figure: interleaved, round 1 of 6: 32 additions, the values 1 apart, ...]
    """
    widgets = require.package("ipywidgets", "gl.plot.reduction_player")
    last = len(rounds(FORMS[0], THREADS))
    form = widgets.Dropdown(
        options=[(NAMES[name], name) for name in FORMS],
        value=FORMS[0],
        description="form",
        layout={"width": "38em"},
    )
    number = widgets.IntSlider(value=1, min=1, max=last, description="round")
    play = widgets.Play(value=1, min=1, max=last, interval=1200, description="play")
    widgets.jslink((play, "value"), (number, "value"))

    def fit(change: Any) -> None:
        last = len(rounds(form.value, THREADS))
        number.value = play.value = 1  # every form starts at its beginning
        number.max = play.max = last

    form.observe(fit, names="value")  # before the explorer's own, which draws
    made = Explorer(draw, {"form": form, "number": number})
    made.widget.children = (widgets.HBox([play]), *made.widget.children)
    return made

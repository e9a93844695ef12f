"""Pipeline schedules over time: which rank does what when, and how many activations it holds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, dropdown, slider
from gpulearn.plot.style import box, centred, figure

if TYPE_CHECKING:
    from gpulearn_lessons.model_parallel.pipeline_parallel.clock import PassSpan, ScheduleTimes

__all__ = ["pipeline", "pipeline_player"]

MOST_RANKS, MOST_MICRO_BATCHES = 6, 12
CHUNKS = 2  # of the interleaved schedule in the player
# what a pass looks like: never by colour alone
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "F": ("forward", {"facecolor": "C0", "hatch": ""}),
    "B": ("backward", {"facecolor": "C1", "hatch": "////"}),
    "I": ("backward, for the input", {"facecolor": "C1", "hatch": "\\\\\\\\"}),
    "W": ("backward, for the weights", {"facecolor": "C2", "hatch": "...."}),
}
SHORT = 1e-9
LATER = 0.55  # how opaque the passes of later chunks are


def pipeline(times: ScheduleTimes | Mapping[str, ScheduleTimes]) -> Picture:
    """Draw when each rank of a pipeline does which pass.

    Rows are ranks, and each cell has the number of its micro-batch; white is idle time. With
    several chunks on a rank, the cells of the first one are darker.

    Args:
        times: what `model_parallel.time_schedule` returned, or several of them with a name for each,
            below one another on one time axis.

    Raises:
        BadInput: there is none, or one of them is something else.

    >>> import gpulearn as gl
    >>> times = model_parallel.time_schedule(model_parallel.schedule("GPipe", ranks=2, micro_batches=2))
    >>> pipeline(times).alt
    'GPipe: 2 ranks and 2 micro-batches take 9 s, modelled; 33.3 % of it is idle; ...'
    """
    named = times if isinstance(times, Mapping) else {times_name(times): times}
    if not named:
        raise BadInput("times is empty: give at least one result of model_parallel.time_schedule.")
    require.each(named, "spans", "what model_parallel.time_schedule returns", "times holds")
    longest = max(one.seconds for one in named.values())
    rows = [len(one.schedule.ranks) for one in named.values()]
    grid: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": rows}
    with figure(9.6, 1.2 * len(rows) + 0.36 * sum(rows), len(rows), **grid) as (made, axes):
        for each, (name, one) in zip(axes[:, 0], named.items(), strict=True):
            _draw(each, one, one.seconds)
            each.set_title(f"{name}: bubble {one.bubble:.1%}", loc="left", fontsize=10)
            each.set_xlim(0, longest)
        axes[-1, 0].set_xlabel("time (s), modelled")
        _legend(made, list(named.values()))
        return show(made, " ".join(sentence(name, one) for name, one in named.items()))


def times_name(times: Any) -> str:
    """What a schedule is called; what is none is left to be refused."""
    return str(getattr(getattr(times, "schedule", None), "name", ""))


def sentence(name: str, times: ScheduleTimes) -> str:
    """What the picture of a whole schedule shows."""
    schedule = times.schedule
    ranks, micro = len(schedule.ranks), schedule.micro_batches
    held = ", ".join(map(str, schedule.most_held))
    return (
        f"{name}: {ranks} rank{'s' if ranks > 1 else ''} and {micro} "
        f"micro-batch{'es' if micro > 1 else ''} take {times.seconds:.4g} s, modelled; "
        f"{100 * times.bubble:.1f} % of it is idle; held at most: {held}."
    )


def _draw(axes: Any, times: ScheduleTimes, now: float) -> None:
    """The passes, pale where they have not begun."""
    for span in times.spans:
        _, look = LOOKS[span.action.kind]
        begun = span.start < now - SHORT
        first = span.action.stage == min(times.schedule.stages_of(span.rank))
        alpha = (1.0 if first else LATER) if begun else 0.12
        wide = span.end - span.start
        box(axes, span.start, span.rank + 0.08, wide, 0.84, edgecolor="white", linewidth=0.8,
            alpha=alpha, **look)  # fmt: skip
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        if wide * 60 > times.seconds:  # there is room for a number
            centred(axes, span.start + wide / 2, span.rank + 0.5, str(span.action.micro),
                    fontsize=8, color="black" if begun else "0.5", bbox=ground)  # fmt: skip
    count = len(times.schedule.ranks)
    axes.set_ylim(count, 0)
    axes.set_yticks([rank + 0.5 for rank in range(count)], [f"rank {r}" for r in range(count)])
    axes.grid(visible=False)


def _legend(made: Any, several: list[ScheduleTimes]) -> None:
    from matplotlib.patches import Patch

    there = {span.action.kind for one in several for span in one.spans}
    patches = [
        Patch(edgecolor="white", label=name, **look)
        for kind, (name, look) in LOOKS.items()
        if kind in there
    ]
    if any(len(one.schedule.stages_of(0)) > 1 for one in several):
        patches.append(Patch(facecolor="C0", alpha=LATER, label="lighter: a rank's later chunks"))
    made.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=10)


@functools.lru_cache(maxsize=128)
def timed(name: str, ranks: int, micro_batches: int) -> ScheduleTimes:
    """A schedule on the simulated clock; forward takes 1 s and backward 2 s on each rank.

    Interleaved chunks take micro-batches in groups of as many as there are ranks: the number is
    rounded up.
    """
    from gpulearn_lessons.model_parallel.pipeline_parallel.clock import time_schedule
    from gpulearn_lessons.model_parallel.pipeline_parallel.orders import schedule

    if name != "interleaved":
        return time_schedule(schedule(name, ranks, micro_batches))
    rounded = -(-micro_batches // ranks) * ranks
    return time_schedule(schedule(name, ranks, rounded, CHUNKS))


def held_at(times: ScheduleTimes, rank: int, now: float) -> int:
    """How many forward passes a rank holds the activations of at a time."""
    own = [span for span in times.spans if span.rank == rank]
    held = 0
    for span, after in zip(own, times.schedule.held(rank), strict=True):
        # a forward pass holds from its start, a backward pass lets go at its end
        counts = span.start if span.action.kind == "F" else span.end
        if counts <= now - SHORT or (span.action.kind != "F" and span.end <= now + SHORT):
            held = after
    return held


def doing(spans: list[PassSpan], now: float) -> str:
    """What a rank does at a time."""
    for span in spans:
        if span.start < now - SHORT and now <= span.end + SHORT:
            return str(span.action)
    return "idle"


def draw(schedule: str, ranks: int, micro_batches: int, time: int) -> tuple[Picture, str]:
    """A schedule up to a time: the passes above, what each rank holds below; and the sentence.

    Raises:
        BadInput: there are too few or too many ranks or micro-batches.
    """
    if not 1 <= ranks <= MOST_RANKS or not 1 <= micro_batches <= MOST_MICRO_BATCHES:
        raise BadInput(
            f"{ranks} ranks and {micro_batches} micro-batches: there is room for {MOST_RANKS} and "
            f"{MOST_MICRO_BATCHES}."
        )
    times = timed(schedule, ranks, micro_batches)
    each = [[span for span in times.spans if span.rank == rank] for rank in range(ranks)]
    acts = ", ".join(f"rank {rank} {doing(spans, time)}" for rank, spans in enumerate(each))
    held = [held_at(times, rank, time) for rank in range(ranks)]
    said = (
        f"{sentence(schedule, times)} Second {time} of {times.seconds:g}: {acts}; held now: "
        f"{', '.join(map(str, held))}."
    )
    taken = times.schedule.micro_batches
    if taken != micro_batches:
        said += (
            f" Chunks take micro-batches in groups of {ranks}: {taken} here, not {micro_batches}."
        )
    grid: dict[str, Any] = {"height_ratios": [2, 1]}
    with figure(9.6, 1.6 + 0.62 * ranks, 2, **grid) as (made, (above, below)):
        _draw(above, times, time)
        above.axvline(time, color="0.2", linewidth=1.5)
        above.set_xlim(0, times.seconds)
        above.set_xlabel("time (s), modelled")
        _held(below, times, held)
        _legend(made, [times])
        return show(made, said), said


def _held(axes: Any, times: ScheduleTimes, held: list[int]) -> None:
    """A bar for what each rank holds now, and a line for the most that it ever holds."""
    from matplotlib.ticker import MaxNLocator

    for rank, (now, most) in enumerate(zip(held, times.schedule.most_held, strict=True)):
        for number in range(most):
            look = {"facecolor": "C0" if number < now else "white", "edgecolor": "0.4"}
            box(axes, number + 0.05, rank + 0.15, 0.9, 0.7, linewidth=0.8, **look)
        axes.text(most + 0.15, rank + 0.5, f"{now} of at most {most}", va="center", fontsize=9)
    count = len(held)
    axes.set_ylim(count, 0)
    axes.set_xlim(0, max(max(times.schedule.most_held) + 3, 12))
    axes.set_yticks([rank + 0.5 for rank in range(count)], [f"rank {r}" for r in range(count)])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("forward passes whose activations are held")
    axes.grid(visible=False)


def pipeline_player(schedule: str = "1F1B", ranks: int = 4, micro_batches: int = 8) -> Player:
    """Step through a pipeline schedule: what each rank does, and what it holds.

    The sliders move with the arrow keys; they, the list and the play button are reached with Tab.

    Args:
        schedule: "naive", "GPipe", "1F1B", "interleaved" (two chunks on each rank) or "ZB-H1".
        ranks: at first, up to 6.
        micro_batches: at first, up to 12.

    Raises:
        BadInput: there is no such schedule, or no room for it.

    >>> pipeline_player()
    [interactive figure: 1F1B: 4 ranks and 8 micro-batches take 33 s, modelled; 27.3 % of it ...]
    """
    require.package("ipywidgets", "model_parallel.pipeline_player")
    from gpulearn_lessons.model_parallel.pipeline_parallel.orders import SCHEDULES

    require.choice("schedule", schedule, SCHEDULES)

    def last(schedule: str, ranks: int, micro_batches: int) -> int:
        return round(timed(schedule, ranks, micro_batches).seconds)

    controls = {
        "schedule": dropdown("schedule", SCHEDULES, schedule),
        "ranks": slider("ranks", ranks, 1, MOST_RANKS),
        "micro_batches": slider("micro-batches", micro_batches, 1, MOST_MICRO_BATCHES),
        "time": slider("time", 10, 1, last(schedule, ranks, micro_batches)),
    }
    return Player(draw, controls, "time", interval=700, last=last)

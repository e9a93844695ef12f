"""Pipeline schedules over time: which rank does what when, and how many activations it holds."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Player, dropdown, slider
from gpulearn.plot.style import box, centered, figure, key, rows
from gpulearn.require import counted

if TYPE_CHECKING:
    from gpulearn_lessons.pipeline_parallel.clock import PassSpan, ScheduleTimes

MAX_RANKS, MAX_MICRO_BATCHES = 6, 12
CHUNKS = 2  # of the interleaved schedule in the player
# what a pass looks like: never by color alone
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "F": ("forward", {"facecolor": "C0", "hatch": ""}),
    "B": ("backward", {"facecolor": "C1", "hatch": "////"}),
}
INSTANT = 1e-9
LATER_ALPHA = 0.55  # how opaque the passes of later chunks are


def pipeline(times: ScheduleTimes | Mapping[str, ScheduleTimes]) -> Picture:
    """Draw when each rank of a pipeline does which pass.

    Rows are ranks, and each cell has the number of its micro-batch; white is idle time. With
    several chunks on a rank, the cells of the first one are darker. Times are what `time_schedule`
    returned, or several of them with a name for each, below one another on one time axis.

    >>> from gpulearn_lessons import pipeline_parallel
    >>> gpipe = pipeline_parallel.schedule("GPipe", ranks=2, micro_batches=2)
    >>> times = pipeline_parallel.time_schedule(gpipe)
    >>> pipeline(times).alt
    'GPipe: 2 ranks and 2 micro-batches take 9 s, modeled; 33.3 % of it is idle; ...'
    """
    if not isinstance(times, Mapping):  # what is no schedule is refused below
        times = {str(getattr(getattr(times, "schedule", None), "name", "")): times}
    if not times:
        raise BadInput(
            "times is empty: give at least one result of pipeline_parallel.time_schedule."
        )
    require.each(times, "spans", "what time_schedule returns", "times holds")
    longest = max(run.seconds for run in times.values())
    ranks = [len(run.schedule.ranks) for run in times.values()]
    grid: dict[str, Any] = {"sharex": True, "squeeze": False, "height_ratios": ranks}
    with figure(9.6, 1.2 * len(ranks) + 0.36 * sum(ranks), len(ranks), **grid) as (fig, panels):
        for axes, (name, run) in zip(panels[:, 0], times.items(), strict=True):
            _draw(axes, run, run.seconds)
            axes.set_title(f"{name}: bubble {run.bubble:.1%}", loc="left", fontsize=10)
            axes.set_xlim(0, longest)
        panels[-1, 0].set_xlabel("time (s), modeled")
        _legend(fig, list(times.values()))
        return show(fig, " ".join(sentence(name, run) for name, run in times.items()))


def sentence(name: str, times: ScheduleTimes) -> str:
    """What the picture of a whole schedule shows."""
    schedule = times.schedule
    return (
        f"{name}: {counted(len(schedule.ranks), 'rank')} and "
        f"{counted(schedule.micro_batches, 'micro-batch', 'micro-batches')} take "
        f"{times.seconds:.4g} s, modeled; {100 * times.bubble:.1f} % of it is idle; held at most: "
        f"{', '.join(map(str, schedule.most_held))}."
    )


def _draw(axes: Any, times: ScheduleTimes, now: float) -> None:
    """The passes, pale where they have not begun."""
    for span in times.spans:
        _, look = LOOKS[span.action.kind]
        begun = span.start < now - INSTANT
        first = span.action.stage == min(times.schedule.stages_of(span.rank))
        alpha = (1.0 if first else LATER_ALPHA) if begun else 0.12
        wide = span.end - span.start
        box(axes, span.start, span.rank + 0.08, wide, 0.84, edgecolor="white", linewidth=0.8,
            alpha=alpha, **look)  # fmt: skip
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        if wide * 60 > times.seconds:  # there is room for a number
            centered(axes, span.start + wide / 2, span.rank + 0.5, str(span.action.micro),
                    fontsize=8, color="black" if begun else "0.5", bbox=ground)  # fmt: skip
    rows(axes, [f"rank {rank}" for rank in range(len(times.schedule.ranks))])
    axes.grid(visible=False)


def _legend(fig: Any, runs: list[ScheduleTimes]) -> None:
    kinds = {span.action.kind for run in runs for span in run.spans}
    looks = {
        name: {"edgecolor": "white", **look}
        for kind, (name, look) in LOOKS.items()
        if kind in kinds
    }
    if any(len(run.schedule.stages_of(0)) > 1 for run in runs):
        looks["lighter: a rank's later chunks"] = {"facecolor": "C0", "alpha": LATER_ALPHA}
    key(fig, looks)


@functools.lru_cache(maxsize=128)
def timed(name: str, ranks: int, micro_batches: int) -> ScheduleTimes:
    """A schedule on the simulated clock; forward takes 1 s and backward 2 s on each rank.

    Interleaved chunks take micro-batches in groups of as many as there are ranks: the number is
    rounded up.
    """
    from gpulearn_lessons.pipeline_parallel.clock import time_schedule
    from gpulearn_lessons.pipeline_parallel.orders import schedule

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
        if counts <= now - INSTANT or (span.action.kind != "F" and span.end <= now + INSTANT):
            held = after
    return held


def doing(spans: list[PassSpan], now: float) -> str:
    """What a rank does at a time."""
    for span in spans:
        if span.start < now - INSTANT and now <= span.end + INSTANT:
            return str(span.action)
    return "idle"


def draw(schedule: str, ranks: int, micro_batches: int, time: int) -> tuple[Picture, str]:
    """A schedule up to a time: the passes above, what each rank holds below; and the sentence."""
    times = timed(schedule, ranks, micro_batches)
    spans = [[span for span in times.spans if span.rank == rank] for rank in range(ranks)]
    acts = ", ".join(f"rank {rank} {doing(own, time)}" for rank, own in enumerate(spans))
    held = [held_at(times, rank, time) for rank in range(ranks)]
    alt = (
        f"{sentence(schedule, times)} Second {time} of {times.seconds:g}: {acts}; held now: "
        f"{', '.join(map(str, held))}."
    )
    rounded = times.schedule.micro_batches
    if rounded != micro_batches:
        alt += (
            f" Chunks take micro-batches in groups of {ranks}: {rounded} here, not {micro_batches}."
        )
    with figure(9.6, 1.6 + 0.62 * ranks, 2, height_ratios=[2, 1]) as (fig, (above, below)):
        _draw(above, times, time)
        above.axvline(time, color="0.2", linewidth=1.5)
        above.set_xlim(0, times.seconds)
        above.set_xlabel("time (s), modeled")
        _draw_held(below, times, held)
        _legend(fig, [times])
        return show(fig, alt), alt


def _draw_held(axes: Any, times: ScheduleTimes, held: list[int]) -> None:
    """A bar for what each rank holds now, and a line for the most that it ever holds."""
    from matplotlib.ticker import MaxNLocator

    for rank, (now, most) in enumerate(zip(held, times.schedule.most_held, strict=True)):
        for number in range(most):
            look = {"facecolor": "C0" if number < now else "white", "edgecolor": "0.4"}
            box(axes, number + 0.05, rank + 0.15, 0.9, 0.7, linewidth=0.8, **look)
        axes.text(most + 0.15, rank + 0.5, f"{now} of at most {most}", va="center", fontsize=9)
    rows(axes, [f"rank {rank}" for rank in range(len(held))])
    axes.set_xlim(0, max(max(times.schedule.most_held) + 3, 12))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("forward passes whose activations are held")
    axes.grid(visible=False)


def pipeline_player() -> Player:
    """Step through a pipeline schedule: what each rank does, and what it holds.

    The choice is "naive", "GPipe", "1F1B" or "interleaved" (two chunks on each rank), on up to 6
    ranks, with up to 12 micro-batches.

    >>> pipeline_player()
    [interactive figure: 1F1B: 4 ranks and 8 micro-batches take 33 s, modeled; 27.3 % of it ...]
    """
    from gpulearn_lessons.pipeline_parallel.orders import SCHEDULES

    def last(schedule: str, ranks: int, micro_batches: int) -> int:
        return round(timed(schedule, ranks, micro_batches).seconds)

    controls = {
        "schedule": dropdown("schedule", SCHEDULES, "1F1B"),
        "ranks": slider("ranks", 4, 1, MAX_RANKS),
        "micro_batches": slider("micro-batches", 8, 1, MAX_MICRO_BATCHES),
        "time": slider("time", 10, 1, last("1F1B", 4, 8)),
    }
    return Player(draw, controls, "time", interval=700, last=last)

"""The engines of a GPU over time: which copy and which kernel ran when, and the host that asked."""

from collections.abc import Mapping
from typing import Any

from gpulearn.perf.schedule import ENGINES, Timeline
from gpulearn.plot.style import centered, rows

ROWS = ("host", *ENGINES)
HATCHES = ("", "////", "\\\\\\\\", "....", "xxxx", "++++")
LETTER = 0.02  # of the axis, that a bar must be wide to hold a stream's number
EDGE = 0.004  # and to have an edge, which would hide it
WAIT = {"facecolor": "white", "hatch": "....", "edgecolor": "0.55", "linewidth": 0.6}


def draw(axes: Any, run: Timeline, scale: float, longest: float) -> None:
    """Draw a bar for each operation, in its engine's row, with its stream's color and number.

    The axis has `scale` units in a second, and holds `longest` seconds.
    """
    numbers = streams(run)
    for span in run.spans:
        task = span.task
        look = looks(numbers[task.stream])
        if task.issue:
            begin = (span.issued - task.issue) * scale
            axes.broken_barh([(begin, task.issue * scale)], (0.3, 0.4), **look)
        if task.host_waits and span.end > span.issued:
            wait = (span.issued * scale, (span.end - span.issued) * scale)
            axes.broken_barh([wait], (0.3, 0.4), **WAIT)
        if task.engine:
            if task.seconds < EDGE * longest:
                look = {**look, "edgecolor": look["facecolor"], "hatch": ""}
            row = ROWS.index(task.engine)
            bar = (span.begin * scale, task.seconds * scale)
            axes.broken_barh([bar], (row + 0.12, 0.76), **look)
            if task.seconds > LETTER * longest:
                middle = bar[0] + bar[1] / 2
                ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
                number = str(numbers[task.stream])
                centered(axes, middle, row + 0.5, number, fontsize=8, bbox=ground)
    rows(axes, ROWS)


def streams(run: Timeline) -> dict[int, int]:
    """A small number for each stream that works, in the order in which they first do.

    0 is the default stream; a stream that a program makes has a number from 1 on.
    """
    numbers = {0: 0}
    for span in run.spans:
        numbers.setdefault(span.task.stream, len(numbers))
    return numbers


def looks(number: int) -> dict[str, Any]:
    """How a stream's bars look: its color and its hatch."""
    return {
        "facecolor": f"C{number % 10}", "hatch": HATCHES[number % len(HATCHES)],
        "edgecolor": "white", "linewidth": 0.6,
    }  # fmt: skip


def labels(runs: Mapping[str, Timeline]) -> dict[str, dict[str, Any]]:
    """What the legend says: each stream that does something in one of the runs, with its look."""
    working = {
        streams(run)[span.task.stream] for run in runs.values() for span in run.spans
        if span.task.engine
    }  # fmt: skip
    if len(working) > 6:  # the bars have the numbers
        return {}
    entries = {f"stream {n}" if n else "default stream": looks(n) for n in sorted(working)}
    waits = any(
        span.task.host_waits and span.end - span.issued > EDGE * run.makespan
        for run in runs.values() for span in run.spans
    )  # fmt: skip
    return {**entries, "the host waits": WAIT} if waits else entries


def sentence(name: str, run: Timeline, time: str) -> str:
    """What a run, which may have no name, took, and how long each engine was busy."""
    begins = f"{name[0].upper()}{name[1:]}: " if name else ""
    shares = ", ".join(f"{engine} {100 * share:.0f} %" for engine, share in run.busy.items())
    races = f" Races between streams: {len(run.findings)}." if run.findings else ""
    return f"{begins}{time}, {run.provenance}; busy: {shares} of the time.{races}"

"""What training costs: where the memory goes, and what each operation of a step takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.nn.autograd import Variable
from gpulearn.perf.operation_costs import graph_times, graph_work
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.style import figure, stacked_bars
from gpulearn.require import shown
from gpulearn.tables import Table, table
from simt.device.selection import cpu_name

if TYPE_CHECKING:
    from gpulearn.train.memory import MemoryBudget

UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))


def memory(bars: Mapping[str, Mapping[str, float] | MemoryBudget]) -> Picture:
    """Draw stacked bars of bytes, one for each situation.

    Args:
        bars: what a bar is called → part → bytes, or what `gl.train.memory_budget` returned. Every
            bar has the same parts.

    >>> memory({"batch 8": {"parameters": 1e6, "activations": 3e6}})
    [figure: Memory in bars: batch 8 4 MB, most of it activations (3 MB).]
    """
    require.named("bars", bars, '{"name": {"part": bytes}, …}')
    sized: dict[str, Mapping[str, float]] = {}
    for name, bar in bars.items():
        sized[name] = bar if isinstance(bar, Mapping) else getattr(bar, "_asdict", dict)()
        if not sized[name]:
            raise BadInput(f"{name} is {shown(bar)}: give what gl.train.memory_budget returned.")
    parts = list(next(iter(sized.values())))
    for name, bar in sized.items():
        if list(bar) != parts:
            raise BadInput(f"{name} has the parts {shown(list(bar))}, the first {shown(parts)}.")
        for part, amount in bar.items():
            if not 0 <= amount < math.inf:
                raise BadInput(f"{part} of {name} is {shown(amount)}: give a number of bytes.")
    scale, unit = unit_for(max(sum(bar.values()) for bar in sized.values()))
    with figure(8.5, 1.4 + 0.45 * len(sized)) as (fig, axes):
        stacked_bars(axes, sized, scale, 0.65)
        axes.set_xlabel(unit)
        fig.legend(loc="outside upper center", ncols=len(parts))
    text = "; ".join(bar_text(name, bar) for name, bar in sized.items())
    return show(fig, f"Memory in bars: {text}.")


def unit_for(most: float) -> tuple[float, str]:
    """The unit in which an amount of bytes has few digits.

    >>> unit_for(2_500_000)
    (1000000.0, 'MB')
    """
    return next(((scale, unit) for scale, unit in UNITS if most >= scale), UNITS[-1])


def bar_text(name: str, bar: Mapping[str, float]) -> str:
    """One bar in words: its sum, and its largest part."""
    total = sum(bar.values())
    scale, unit = unit_for(total)
    part = max(bar, key=lambda key: bar[key])
    much = "most of it" if 2 * bar[part] > total else "the largest part"
    return f"{name} {total / scale:.3g} {unit}, {much} {part} ({bar[part] / scale:.3g} {unit})"


def compare_operations(loss: Variable, repeats: int = 5) -> Table:
    """A table of a graph's operations: counted work, and the time that each takes here.

    Args:
        loss: a Variable of one number that was computed.
        repeats: how often each operation is timed; the fastest run counts.
    """
    times = graph_times(loss, repeats)
    total = sum(map(sum, times.values()))
    works = graph_work(loss)
    every = sum(work.flops for work in works)
    rows = [
        {
            "operation": work.operation,
            "FLOP forward": f"{work.forward_flops:,}",
            "FLOP backward": f"{work.backward_flops:,}",
            "of all FLOP": f"{work.flops / every:.1%}",
            "FLOP per byte": f"{float(f'{work.flops / work.bytes_moved:.2g}'):g}",
            "time": format_seconds(sum(times[work.operation])),
            "of all time": f"{sum(times[work.operation]) / total:.1%}",
        }
        for work in works
    ]
    caption = (
        f"FLOP and bytes: counted. Times, both ways: measured on {cpu_name()}, each by itself."
    )
    return table(rows, caption=caption)

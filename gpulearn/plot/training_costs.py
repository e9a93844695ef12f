"""What training costs: where the memory goes, and what each operation of a step takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.nn.autograd import Variable
from gpulearn.perf.operation_costs import graph_times, graph_work
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.style import figure, stacked_bars
from gpulearn.tables import Table, table
from simt.device.selection import cpu_name

if TYPE_CHECKING:
    from gpulearn.train.memory import MemoryBudget

UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))


def memory(bars: Mapping[str, MemoryBudget]) -> Picture:
    """Draw stacked bars of bytes, one for each situation.

    Args:
        bars: what a bar is called → what `gl.train.memory_budget` returned.
    """
    require.named("bars", bars, '{"name": budget, …}')
    require.each(bars, "_asdict", "what gl.train.memory_budget returned")
    sized = {name: bar._asdict() for name, bar in bars.items()}
    scale, unit = unit_for(max(sum(bar.values()) for bar in sized.values()))
    with figure(8.5, 1.4 + 0.45 * len(sized)) as (fig, axes):
        stacked_bars(axes, sized, scale, 0.65)
        axes.set_xlabel(unit)
        fig.legend(loc="outside upper center", ncols=len(next(iter(sized.values()))))
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


def compare_operations(loss: Variable) -> Table:
    """A table of a graph's operations: counted work, and the time that each takes here.

    `loss` is a Variable of one number that was computed; of five runs of each operation the
    fastest counts.
    """
    times, works = graph_times(loss), graph_work(loss)
    flops, seconds = sum(work.flops for work in works), sum(times.values())
    rows = [
        {
            "operation": work.operation,
            "FLOP forward": f"{work.forward_flops:,}",
            "FLOP backward": f"{work.backward_flops:,}",
            "of all FLOP": f"{work.flops / flops:.1%}",
            "FLOP per byte": f"{float(f'{work.flops / work.bytes_moved:.2g}'):g}",
            "time": format_seconds(times[work.operation]),
            "of all time": f"{times[work.operation] / seconds:.1%}",
        }
        for work in works
    ]
    caption = (
        f"FLOP and bytes: counted. Times, both ways: measured on {cpu_name()}, each by itself."
    )
    return table(rows, caption=caption)

"""The table of notebook 11: what each operation of a training step costs."""

from __future__ import annotations

from gpulearn.device.selection import cpu_name
from gpulearn.nn.autograd import Variable
from gpulearn.perf.operation_costs import graph_times, graph_work
from gpulearn.perf.timing import format_seconds
from gpulearn.tables import Table, table

__all__ = ["compare_operations"]


def compare_operations(loss: Variable, repeats: int = 5) -> Table:
    """A table of a graph's operations: counted work, and the time that each takes here.

    Args:
        loss: a Variable of one number that was computed.
        repeats: how often each operation is timed; the fastest run counts.

    Raises:
        BadInput: it is no such Variable, or one of its operations cannot be timed by itself.
    """
    times = graph_times(loss, repeats)
    total = sum(map(sum, times.values()))
    works = graph_work(loss)
    every = sum(work.flops for work in works)
    rows = [
        {
            "operation": work.operation,
            "nodes": work.count,
            "FLOP forward": f"{work.forward_flops:,}",
            "FLOP backward": f"{work.backward_flops:,}",
            "of all FLOP": f"{work.flops / every:.1%}",
            "forward": format_seconds(times[work.operation][0]),
            "backward": format_seconds(times[work.operation][1]),
            "of all time": f"{sum(times[work.operation]) / total:.1%}",
        }
        for work in works
    ]
    return table(rows, caption=f"FLOP: counted. Times: measured on {cpu_name()}, each by itself.")

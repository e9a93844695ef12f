"""Trainings with compressed gradients: their losses in one figure, their bytes in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure
from gpulearn.plot.training_curves import smoothed
from gpulearn.require import shown
from gpulearn.tables import Table, table

if TYPE_CHECKING:
    from gpulearn.scaling.compression import Compressed

__all__ = ["compression_table", "plot_compression"]

WINDOW = 10  # steps over which losses are averaged


def compression_table(results: Mapping[str, Compressed]) -> Table:
    """Bytes, errors, loss and accuracy of each method.

    Args:
        results: what `gl.scaling.compression_study` returned.

    Raises:
        BadInput: there is nothing to show, or something is none.
    """
    _need(results)
    rows = [
        {
            "method": name,
            "bytes of a gradient": f"{one.bytes_sent:,}",
            "of the whole": f"{one.bytes_sent / one.bytes_whole:.1%}",
            "error of a gradient": f"{one.error:.2g}",
            "error of their sum": f"{one.summed_error:.2g}",
            "loss": f"{_last(one):.3g}",
            "held out, right": f"{one.accuracy:.1%}",
        }
        for name, one in results.items()
    ]
    steps = len(next(iter(results.values())).losses)
    return table(
        rows,
        f"{steps} steps; errors relative to the exact mean of all ranks' gradients, measured; "
        f"loss: mean of the last {WINDOW} steps.",
    )


def plot_compression(results: Mapping[str, Compressed]) -> Picture:
    """Draw the loss over the steps, one line for each method.

    Args:
        results: what `gl.scaling.compression_study` returned.

    Raises:
        BadInput: there is nothing to draw, or something is none.
    """
    _need(results)
    with figure(7.6, 4.2) as (made, axes):
        for number, (name, one) in enumerate(results.items()):
            label = f"{name}: {100 * one.bytes_sent / one.bytes_whole:.3g} % of the bytes"
            steps = range(1, len(one.losses) + 1)
            every = max(1, len(one.losses) // 10)
            # markers of two lines that lie on each other stand side by side
            marks = (number * every // len(results), every)
            axes.plot(steps, smoothed(one.losses, WINDOW), label=label, markevery=marks,
                      **LINES[number])  # fmt: skip
        axes.set_xlabel("step")
        axes.set_ylabel(f"loss of the batches (mean of {WINDOW} steps)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=9)
        ends = ", ".join(f"{name} {_last(one):.2g}" for name, one in results.items())
        return show(made, f"Loss over steps with compressed gradients; at the end: {ends}.")


def _last(one: Compressed) -> float:
    return smoothed(one.losses, WINDOW)[-1]


def _need(results: Any) -> None:
    good = isinstance(results, Mapping) and 0 < len(results) <= len(LINES)
    if not good or not all(hasattr(one, "bytes_sent") for one in results.values()):
        raise BadInput(
            f"results is {shown(results)}: give what gl.scaling.compression_study returns."
        )

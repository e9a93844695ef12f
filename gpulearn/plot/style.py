"""The project's look: one matplotlib style, and markers so that colour never stands alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpulearn import require

__all__ = ["LINES", "figure"]

# one line style and marker for each curve of a figure, beside the cycle's colour
LINES = tuple(
    {"marker": marker, "linestyle": line}
    for marker, line in zip("osD^vP*X", ("-", "--", "-.", ":") * 2, strict=True)
)


@contextmanager
def figure(width: float = 7.0, height: float = 4.2) -> Iterator[tuple[Any, Any]]:
    """Make a figure and its axes in the project's style; sizes in inches.

    The figure is not known to pyplot, so that it is shown only where it is asked for.
    """
    style = require.package("matplotlib.style", "A figure")
    from matplotlib.figure import Figure

    extra = {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 11.0,
        "grid.alpha": 0.3,
        # no frame, and a ground that keeps words legible where a curve has no room beside them
        "legend.edgecolor": "none",
        "legend.fancybox": False,
        "legend.framealpha": 0.85,
        "lines.linewidth": 2.0,
        "savefig.dpi": 110,
    }
    with style.context(["default", "petroff10", extra]):
        made = Figure(figsize=(width, height), layout="constrained")
        yield made, made.subplots()

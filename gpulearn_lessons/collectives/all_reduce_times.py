"""All-reduces over the tensor's size: times measured here beside those of the α–β model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.parallel.costs import all_reduce_seconds
from gpulearn.parallel.links import LINKS, Link, as_link
from gpulearn.plot.controls import Explorer, choices, dropdown
from gpulearn.plot.style import figure, legend_beside, looks, plain_decades
from gpulearn.require import shown

NAMES = {
    "root": "via one root",
    "tree": "tree",
    "doubling": "doubling",
    "ring": "ring",
    "halving": "halving and doubling",
}
LIBRARY = "library"
MIN_BYTES, MAX_BYTES = 1e2, 1e10  # bytes, of the explorer
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (0.0, "bytes"))


def size_text(size: float) -> str:
    """A size in bytes as people say it, with two digits.

    >>> size_text(1024), size_text(3.3e7)
    ('1 KB', '33 MB')
    """
    scale, unit = next(entry for entry in UNITS if size >= entry[0])
    return f"{float(f'{size / (scale or 1):.2g}'):g} {unit}"


def fastest_spans(ranks: int, link: Link | str) -> list[tuple[float, str]]:
    """Which algorithm is fastest from which size in bytes on, in the α–β model; ascending.

    >>> fastest_spans(1024, "100 Gbit")
    [(100.0, 'doubling'), (151356.12484362072, 'halving')]
    """
    spans: list[tuple[float, str]] = []
    for size in np.geomspace(MIN_BYTES, MAX_BYTES, 801):
        times = {name: all_reduce_seconds(name, ranks, size, link) for name in NAMES}
        # of equals the one that was fastest before: with 2 ranks several are
        best = min(times, key=lambda name: (times[name], not spans or name != spans[-1][1]))
        if not spans or best != spans[-1][1]:
            spans.append((float(size), best))
    return spans


def all_reduce(
    measured: Mapping[str, Mapping[float, float]], link: Link | str | None = None, *, ranks: int
) -> Picture:
    """Draw the times of all-reduces over the tensor's size: points measured, lines modeled.

    Args:
        measured: algorithm ("root", "tree", "doubling", "ring", "halving" or "library") → size in
            bytes → seconds; may be empty if there is a link.
        link: that of the model's lines, one for each algorithm; no lines if None.
        ranks: how many ranks took part.
    """
    from matplotlib.ticker import LogLocator

    ranks = require.whole("ranks", ranks)
    for name in measured:
        require.choice("algorithm", name, (*NAMES, LIBRARY))
    points = [size for times in measured.values() for size in times]
    if not points and link is None:
        raise BadInput(f"measured is {shown(measured)}, and there is no link: nothing to draw.")
    sizes = np.geomspace(min(points, default=MIN_BYTES), max(points, default=MAX_BYTES), 60)
    labels = {**NAMES, LIBRARY: LIBRARY}
    with figure(8.6, 4.6) as (fig, axes):
        for (name, label), look in zip(labels.items(), looks([*labels.values()]), strict=True):
            line = link if name in NAMES else None
            if name in measured:
                times = dict(sorted(measured[name].items()))
                style = {**look, "linestyle": look["linestyle"] if line is None else "none"}
                axes.plot(list(times), [1e3 * t for t in times.values()], markersize=7,
                          label=f"{label}, measured", **style)  # fmt: skip
            if line is not None:
                model = [1e3 * all_reduce_seconds(name, ranks, s, line) for s in sizes]
                axes.plot(sizes, model, label=f"{label}, modeled", **{**look, "marker": ""})
        axes.set(xscale="log", yscale="log")
        wide = sizes[-1] > 1e5 * sizes[0]  # then a tick at every second power of ten
        axes.xaxis.set_major_locator(LogLocator(base=100 if wide else 10))
        axes.xaxis.set_major_formatter(lambda size, _: size_text(size))
        low, high = axes.get_ylim()
        plain_decades(axes, (1, 2, 5) if high < 1000 * low else (1,))
        axes.set_xlabel(f"size of the tensor on each of {ranks:,} ranks")
        axes.set_ylabel("time of one all-reduce (ms)")
        legend_beside(axes)
        # while the style is in force: its colors are looked up when the lines are drawn
        return show(fig, _sentence(measured, link, ranks))


def _sentence(
    measured: Mapping[str, Mapping[float, float]], link: Link | str | None, ranks: int
) -> str:
    parts = []
    common = sorted(set.intersection(*(set(t) for t in measured.values()))) if measured else []
    for size in dict.fromkeys(common[:1] + common[-1:]):
        best = min(measured, key=lambda name: measured[name][size])
        does = "is fastest with" if len(measured) > 1 else "takes"
        parts.append(
            f"measured at {size_text(size)}, {NAMES.get(best, best)} {does} "
            f"{1e3 * measured[best][size]:.2g} ms"
        )
    if link is not None:
        parts.append(spans_text(ranks, link))
    return f"Times of all-reduces on {ranks:,} ranks over the tensor's size: {'; '.join(parts)}."


def spans_text(ranks: int, link: Link | str) -> str:
    """Which algorithm is fastest from where on, in words."""
    (_, first), *others = fastest_spans(ranks, link)
    if not others:
        return f"modeled, {NAMES[first]} is fastest for all sizes"
    ways = [f", from {size_text(size)} on {NAMES[name]}" for size, name in others]
    return f"modeled, {NAMES[first]} is fastest for small tensors{''.join(ways)}"


def draw(link: str, ranks: int) -> tuple[Picture, str]:
    """The modeled times of all algorithms on a named link, and which is fastest where."""
    ring = all_reduce_seconds("ring", ranks, 1e9, link)
    text = (
        f"{ranks:,} ranks, {as_link(link)}: {spans_text(ranks, link)}. The ring takes "
        f"{ring * 1e3:.3g} ms for {size_text(1e9)}, modeled."
    )
    return all_reduce({}, link, ranks=ranks), text


def all_reduce_explorer() -> Explorer:
    """Choose a link and a number of ranks; see which all-reduce is fastest for which size.

    All times are modeled: rounds · α + bytes · β.

    >>> all_reduce_explorer()
    [interactive figure: 1,024 ranks, 100 Gbit (9.6 µs, 12.5 GB/s): modeled, doubling is ...]
    """
    names = [(str(link), name) for name, link in LINKS.items()]
    ranks = [(f"{2**k:,}", 2**k) for k in range(1, 11)]
    controls = {
        "link": dropdown("link", names, "100 Gbit"),
        "ranks": choices("ranks", ranks, 1024),
    }
    return Explorer(draw, controls)

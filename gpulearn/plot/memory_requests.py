"""A picture of one memory request: which lane of a warp touched what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.requests import draw_request
from gpulearn.plot.style import figure
from gpulearn.simt.observers.trace import IDLE, Touch
from gpulearn.simt.observers.traffic import AWAY, SECTOR, bank_passes, sectors

if TYPE_CHECKING:
    from gpulearn.simt.report.report import Report

__all__ = ["memory_figure", "sentence"]

BANKS = 32
WORD = 4


def _requests(report: Report, array: str | None) -> list[tuple[int, Touch, int]]:
    """All recorded requests of an array: (line, touch, warp)."""
    if report.steps is None:
        raise BadInput("this report holds no steps to draw")
    names = sorted({t.array for s in report.steps for t in s.touches})
    if array is None:
        if not names:
            raise BadInput("no array was touched")
        array = names[0]
    if array not in names:
        raise BadInput(f"no array named {array!r} was touched; there are {', '.join(names)}")
    found = []
    for step in report.steps:
        for touch in step.touches:
            if touch.array == array:
                found += [(step.line, touch, warp) for warp in touch.warps()]
    return found


def sentence(touch: Touch, warp: int) -> str:
    """What one request of a warp costs, in words."""
    elements = np.asarray(touch.warp(warp))
    active = elements != IDLE
    addresses = np.where(active, elements * touch.size, AWAY)[None, :]
    verb = {"load": "reads", "store": "writes", "atomic": "updates"}[touch.kind]
    start = f"Warp {warp} {verb} {touch.array} with {active.sum()} lanes"
    if touch.space == "shared":
        counts = bank_passes(addresses, touch.size, touch.kind == "load")
        passes, least = (int(count[0]) for count in counts)
        if passes == least:
            return f"{start}: {passes} pass{'es' * (passes != 1)}, no bank conflict."
        return f"{start}: {passes} passes where {least} would do, since words share a bank."
    moved = int(sectors(addresses, touch.size)[0])
    share = 100 * len(set(elements[active].tolist())) * touch.size / (moved * SECTOR)
    return f"{start}: {moved} sector{'s' * (moved != 1)} of 32 bytes, {share:.3g} % of them used."


def memory_figure(report: Report, array: str | None = None, *, request: int = 0) -> Picture:
    """Draws one request: lanes above, sectors (or banks) below, a line for each lane.

    Raises:
        BadInput: if the array was not touched, or there are fewer requests.
    """
    found = _requests(report, array)
    if not 0 <= request < len(found):
        raise BadInput(f"request {request} does not exist: there are {len(found)} recorded")
    line, touch, warp = found[request]
    with figure(9.0, 3.2) as (made, axes):
        if touch.space == "shared":
            _banks(axes, touch, warp)
        else:
            _sectors(axes, touch, warp)
        axes.set_title(f"{touch.array}, line {line}, warp {warp}: {touch.kind}", loc="left")
    return show(made, sentence(touch, warp))


def _boxes(axes: Any, places: list[float], y: float, marked: set[int], labels: list[str]) -> None:
    from matplotlib.patches import Rectangle

    for n, (x, label) in enumerate(zip(places, labels, strict=True)):
        used = n in marked
        axes.add_patch(
            Rectangle((x - 0.46, y - 0.12), 0.92, 0.24, facecolor="C0" if used else "none",
                      edgecolor="0.5", hatch="" if used else "///", alpha=0.85 if used else 0.3)
        )  # fmt: skip
        axes.text(x, y, label, ha="center", va="center", fontsize=7,
                  color="white" if used else "0.4")  # fmt: skip


def _frame(axes: Any, below: str) -> None:
    axes.set_xlim(-1, 32)
    axes.set_ylim(-0.35, 1.35)
    axes.set_yticks([0, 1], [below, "lane"])
    axes.set_xticks([])
    axes.set_xlabel(f"one request of a warp: its 32 lanes, and the {below.split()[0]}s they touch")
    axes.grid(visible=False)


def _sectors(axes: Any, touch: Touch, warp: int) -> None:
    elements = np.asarray(touch.warp(warp))
    draw_request(axes, np.where(elements != IDLE, elements * touch.size, AWAY), touch.size)


def _banks(axes: Any, touch: Touch, warp: int) -> None:
    lanes = touch.warp(warp)
    active = {n for n, e in enumerate(lanes) if e != IDLE}
    words: dict[int, set[int]] = {}
    for n in active:
        word = lanes[n] * touch.size // WORD
        words.setdefault(word % BANKS, set()).add(word)
    labels = [str(len(words[b])) if b in words else "" for b in range(BANKS)]
    places = [float(n) for n in range(32)]
    _boxes(axes, places, 1, active, [str(n) for n in range(32)])
    _boxes(axes, places, 0, set(words), labels)
    for n in sorted(active):
        bank = lanes[n] * touch.size // WORD % BANKS
        conflict = len(words[bank]) > 1
        axes.plot([n, bank], [0.88, 0.12], color="C1" if conflict else "C0",
                  linestyle="--" if conflict else "-", linewidth=0.8, alpha=0.7)  # fmt: skip
    _frame(axes, "bank\n(words in it)")

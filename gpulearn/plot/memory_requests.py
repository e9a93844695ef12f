"""Requests of a warp to memory: which lane touches which sector or bank, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Explorer, dropdown, slider
from gpulearn.plot.style import box, centered, figure
from gpulearn.require import counted
from simt.observers.trace import IDLE, Touch
from simt.observers.traffic import AWAY, BANK_BYTES, BANKS, SECTOR, WARP, bank_passes, sectors

if TYPE_CHECKING:
    from simt.report.report import Report

DTYPES = ("uint8", "float16", "float32", "float64")
STRIDES, OFFSETS = (-4, 33), (0, 32)
TALL = 0.3  # of a sector's box
MARGIN = 0.04  # at both sides of a box
MAX_WIDTH = 2.0  # few sectors look like few, and are wide enough to read
LEGEND = "filled: asked for; hatched: moved and not used; below: the sector's number"


class Access(NamedTuple):
    """One request: all 32 lanes of a warp load or store an element of an array at once."""

    first: int  # the element of lane 0
    addresses: np.ndarray[Any, Any]  # the first byte of each lane's element, shape (32,)
    size: int  # bytes of an element

    @property
    def sectors(self) -> int:
        """How many different sectors of 32 bytes the 32 elements lie in."""
        return int(sectors(self.addresses[None, :], self.size)[0])

    @property
    def bytes_used(self) -> int:
        """Bytes of all different elements that the lanes point at."""
        return len(np.unique(self.addresses)) * self.size

    @property
    def bytes_moved(self) -> int:
        """Bytes of all sectors: 32 for each."""
        return self.sectors * SECTOR


def access(stride: int = 1, offset: int = 0, dtype: str = "float32") -> Access:
    """Count the sectors of one request in which neighboring lanes are `stride` elements apart.

    The array starts at the beginning of a sector, as every allocation of CUDA does.

    Args:
        stride: elements from one lane to the next; negative is backwards, 0 the same for all.
        offset: the lowest element that a lane touches.
        dtype: one of `DTYPES`.

    >>> access().sectors, access(stride=2).sectors, access(stride=8).sectors
    (4, 8, 32)
    >>> access(offset=1).sectors, access(stride=-1).sectors, access(stride=0).sectors
    (5, 4, 1)
    """
    for name, value in (("stride", stride), ("offset", offset)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise BadInput(f"{name} is {value!r}: give a whole number of elements.")
    if offset < 0:
        raise BadInput(f"offset is {offset}: no element lies before the first; give 0 or more.")
    size = np.dtype(require.choice("dtype", dtype, DTYPES)).itemsize
    first = offset - min(0, (WARP - 1) * stride)
    return Access(first, (first + stride * np.arange(WARP)) * size, size)


def draw_access(stride: int, offset: int, dtype: str) -> tuple[Picture, str]:
    """The picture of one request and its sentence; the explorer's whole logic."""
    request = access(stride, offset, dtype)
    count = counted(request.sectors, "sector")
    used = f"{100 * request.bytes_used / request.bytes_moved:.3g} %"
    text = (
        f"{dtype}, stride {stride}, offset {offset}: {count} for one request of a warp, {used} of "
        f"{request.bytes_moved:,} bytes used. Neighbors from offset 0 need "
        f"{counted(access(1, 0, dtype).sectors, 'sector')}."
    )
    with figure(9.5, 3.0) as (fig, axes):
        draw_request(axes, request.addresses, request.size)
        axes.set_title(
            f"one request: lane k touches a[{_index(request.first, stride)}]", loc="left"
        )
    elements = counted(request.bytes_used // request.size, "element")
    return show(
        fig,
        f"Lines lead from 32 lanes to {elements} of {dtype} in {count}; {used} of the sectors' "
        f"bytes are asked for.",
    ), text


def _index(first: int, stride: int) -> str:
    """How the index reads in Python, for lane k."""
    walk = {0: "", 1: "k"}.get(abs(stride), f"{abs(stride)} * k")
    if stride < 0:
        return f"{first} - {walk}"
    return " + ".join(part for part in (walk, str(first) if first else "") if part) or "0"


def access_explorer() -> Explorer:
    """Explore what one request of a warp costs, as the SIMT machine counts it."""
    controls = {
        "stride": slider("stride", 2, *STRIDES),
        "offset": slider("offset", 0, *OFFSETS),
        "dtype": dropdown("dtype", DTYPES, "float32"),
    }
    return Explorer(draw_access, controls)


def sentence(touch: Touch, warp: int) -> str:
    """What one request of a warp costs, in words."""
    elements = np.asarray(touch.warp(warp))
    active = elements != IDLE
    addresses = np.where(active, elements * touch.size, AWAY)[None, :]
    verb = {"load": "reads", "store": "writes", "atomic": "updates"}[touch.kind]
    start = f"Warp {warp} {verb} {touch.array} with {active.sum()} lanes"
    if touch.space == "shared":
        passes, least = (
            int(n[0]) for n in bank_passes(addresses, touch.size, touch.kind == "load")
        )
        if passes == least:
            return f"{start}: {counted(passes, 'pass', 'passes')}, no bank conflict."
        return f"{start}: {passes} passes where {least} would do, since words share a bank."
    moved = int(sectors(addresses, touch.size)[0])
    share = 100 * len(set(elements[active].tolist())) * touch.size / (moved * SECTOR)
    return f"{start}: {counted(moved, 'sector')} of 32 bytes, {share:.3g} % of them used."


def memory_figure(report: Report, array: str, *, request: int = 0) -> Picture:
    """Draw one recorded request: lanes above, sectors (or banks) below, a line for each lane.

    The report has recorded steps; `request` counts the requests to one array from 0.
    """
    if report.steps is None:
        raise BadInput("this report holds no steps to draw")
    names = sorted({touch.array for step in report.steps for touch in step.touches})
    if array not in names:
        known = ", ".join(names) or "none"
        raise BadInput(f"no array named {array!r} was touched; there are {known}")
    requests = [
        (step.line, touch, warp)
        for step in report.steps
        for touch in step.touches
        if touch.array == array
        for warp in touch.warps()
    ]
    if not 0 <= request < len(requests):
        raise BadInput(f"request {request} does not exist: there are {len(requests)} recorded")
    line, touch, warp = requests[request]
    elements = np.asarray(touch.warp(warp))
    with figure(9.0, 3.2) as (fig, axes):
        if touch.space == "shared":
            _draw_banks(axes, elements.tolist(), touch.size)
        else:
            addresses = np.where(elements != IDLE, elements * touch.size, AWAY)
            draw_request(axes, addresses, touch.size)
        axes.set_title(f"{touch.array}, line {line}, warp {warp}: {touch.kind}", loc="left")
    return show(fig, sentence(touch, warp))


def _draw_banks(axes: Any, elements: list[int], size: int) -> None:
    """Lanes above, banks below with how many words are read in each, and a line for each lane."""
    word_of = {n: e * size // BANK_BYTES for n, e in enumerate(elements) if e != IDLE}
    words: dict[int, set[int]] = {}
    for word in word_of.values():
        words.setdefault(word % BANKS, set()).add(word)
    counts = [str(len(words[bank])) if bank in words else "" for bank in range(BANKS)]
    lanes = [str(lane) for lane in range(WARP)]
    for y, used, labels in ((1, word_of.keys(), lanes), (0, words.keys(), counts)):
        for x, label in enumerate(labels):
            look: dict[str, Any] = {"facecolor": "none", "hatch": "///", "alpha": 0.3}
            if x in used:
                look = {"facecolor": "C0", "hatch": "", "alpha": 0.85}
            box(axes, x - 0.46, y - 0.12, 0.92, 0.24, edgecolor="0.5", **look)
            centered(axes, x, y, label, fontsize=7, color="white" if x in used else "0.4")
    for lane, word in word_of.items():
        bank = word % BANKS
        conflict = len(words[bank]) > 1
        axes.plot([lane, bank], [0.88, 0.12], color="C1" if conflict else "C0",
                  linestyle="--" if conflict else "-", linewidth=0.8, alpha=0.7)  # fmt: skip
    axes.set(xlim=(-1, 32), ylim=(-0.35, 1.35), xticks=[])
    axes.set_yticks([0, 1], ["bank\n(words in it)", "lane"])
    axes.set_xlabel("one request of a warp: its 32 lanes, and the banks they touch")
    axes.grid(visible=False)


def draw_request(axes: Any, addresses: np.ndarray[Any, Any], size: int) -> None:
    """Draw lanes above, sectors below, and a line from each lane to the `size` bytes it touches.

    `addresses` are of the first byte of each lane, or AWAY where one takes no part; shape (32,).
    """
    active = {lane: byte for lane, byte in enumerate(addresses.tolist()) if byte != AWAY}
    touched = sorted({(byte + k) // SECTOR for byte in active.values() for k in (0, size - 1)})
    step = min(MAX_WIDTH, WARP / max(len(touched), 1))
    left = (WARP - step * len(touched)) / 2 + MARGIN
    place = {sector: left + step * k for k, sector in enumerate(touched)}
    wide = step - 2 * MARGIN
    # numbers are turned where they would not fit
    rotation = 90 if len(place) > 16 and max(place) > 999 else 0
    for sector, x in place.items():
        box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.7", hatch="////", linewidth=0)
        axes.text(x + wide / 2, -0.06, str(sector), ha="center", va="top", fontsize=7,
                  rotation=rotation)  # fmt: skip
    edge = 0.3 if size > 1 else 0.0
    for start in sorted(set(active.values())):
        for sector in {start // SECTOR, (start + size - 1) // SECTOR}:  # it may lie across two
            first = max(start, sector * SECTOR) - sector * SECTOR
            last = min(start + size, (sector + 1) * SECTOR) - sector * SECTOR
            x, width = place[sector] + wide * first / SECTOR, wide * (last - first) / SECTOR
            box(axes, x, 0, width, TALL, facecolor="C0", edgecolor="white", linewidth=edge)
    for x in place.values():
        box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.2", linewidth=0.8)
    for lane in range(WARP):
        fill, line, color = ("C0", "0.2", "white") if lane in active else ("none", "0.7", "0.4")
        box(axes, lane + MARGIN, 1, 1 - 2 * MARGIN, 0.24, facecolor=fill, edgecolor=line)
        centered(axes, lane + 0.5, 1.12, str(lane), fontsize=7, color=color)
    for lane, byte in active.items():
        x = place[byte // SECTOR] + wide * (byte % SECTOR + size / 2) / SECTOR
        axes.plot([lane + 0.5, x], [1, TALL], color="C0", linewidth=0.7, alpha=0.8)
    axes.set(xlim=(-0.2, WARP + 0.2), ylim=(-0.25, 1.3), xlabel=LEGEND, xticks=[])
    axes.set_yticks([TALL / 2, 1.12], ["sectors of\n32 bytes", "lanes"])
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(visible=False)

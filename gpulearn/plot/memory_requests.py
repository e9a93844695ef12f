"""Requests of a warp to memory: which lane touches which sector or bank, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import Explorer, dropdown, slider
from gpulearn.plot.style import box, centred, figure
from simt.observers.trace import IDLE, Touch
from simt.observers.traffic import AWAY, BANK_BYTES, BANKS, SECTOR, WARP, bank_passes, sectors

if TYPE_CHECKING:
    from simt.report.report import Report

__all__ = ["access", "access_explorer", "memory_figure", "sentence"]

DTYPES = ("uint8", "float16", "float32", "float64")
STRIDES, OFFSETS = (-4, 33), (0, 32)


@dataclass(frozen=True)
class AccessPattern:
    """One request: all 32 lanes of a warp load or store an element of an array at once.

    Attributes:
        stride: elements from one lane to the next; 0 points all at the same one, and with a
            negative stride the last lane has the lowest element.
        offset: the lowest element, counted from the start of a sector.
        dtype: NumPy's name for what an element is.
    """

    stride: int = 1
    offset: int = 0
    dtype: str = "float32"

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def addresses(self) -> np.ndarray[Any, Any]:
        """The first byte of each lane's element, shape (32,)."""
        made: np.ndarray[Any, Any] = (self.first + self.stride * np.arange(WARP)) * self.size
        return made

    @property
    def first(self) -> int:
        """The element of lane 0."""
        return self.offset - min(0, (WARP - 1) * self.stride)

    @property
    def sectors(self) -> int:
        """How many different sectors of 32 bytes the 32 elements lie in."""
        return int(sectors(self.addresses[None, :], self.size)[0])

    @property
    def bytes_used(self) -> int:
        """Bytes of all different elements that the lanes point at."""
        return len(set(self.addresses.tolist())) * self.size

    @property
    def bytes_moved(self) -> int:
        """Bytes of all sectors: 32 for each."""
        return self.sectors * SECTOR

    @property
    def used_share(self) -> float:
        """The part of the moved bytes that some lane asked for, from 0 to 1."""
        return self.bytes_used / self.bytes_moved


def access(stride: int = 1, offset: int = 0, dtype: str = "float32") -> AccessPattern:
    """Count the sectors of one request in which neighbouring lanes are `stride` elements apart.

    The array starts at the beginning of a sector, as every allocation of CUDA does.

    Args:
        stride: elements from one lane to the next; negative is backwards, 0 the same for all.
        offset: the lowest element that a lane touches.
        dtype: one of `DTYPES`.

    Raises:
        BadInput: stride or offset is no whole number, the offset is negative, or the dtype is
            none of these.

    >>> access().sectors, access(stride=2).sectors, access(stride=8).sectors
    (4, 8, 32)
    >>> access(offset=1).sectors, access(stride=-1).sectors, access(stride=0).sectors
    (5, 4, 1)
    >>> access(stride=2).used_share
    0.5
    """
    for name, value in (("stride", stride), ("offset", offset)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise BadInput(f"{name} is {value!r}: give a whole number of elements.")
    if offset < 0:
        raise BadInput(f"offset is {offset}: no element lies before the first; give 0 or more.")
    return AccessPattern(int(stride), int(offset), require.choice("dtype", dtype, DTYPES))


def draw_access(stride: int, offset: int, dtype: str) -> tuple[Picture, str]:
    """The picture of one request and its sentence; the explorer's whole logic."""
    one = access(stride, offset, dtype)
    best = access(1, 0, dtype).sectors
    used = f"{100 * one.used_share:.3g} %"
    said = (
        f"{dtype}, stride {stride}, offset {offset}: {_sector_count(one.sectors)} for one "
        f"request of a warp, {used} of {one.bytes_moved:,} bytes used. "
        f"Neighbours from offset 0 need {_sector_count(best)}."
    )
    with figure(9.5, 3.0) as (made, axes):
        draw_request(axes, one.addresses, one.size)
        axes.set_title(f"one request: lane k touches a[{_index(one)}]", loc="left")
    elements = one.bytes_used // one.size
    alt = (
        f"Lines lead from 32 lanes to {elements} element{'s' * (elements > 1)} of {dtype} in "
        f"{_sector_count(one.sectors)}; {used} of the sectors' bytes are asked for."
    )
    return show(made, alt), said


def _sector_count(count: int) -> str:
    return f"{count} sector{'s' * (count != 1)}"


def _index(one: AccessPattern) -> str:
    """How the index reads in Python, for lane k."""
    walk = {0: "", 1: "k"}.get(abs(one.stride), f"{abs(one.stride)} * k")
    if one.stride < 0:
        return f"{one.first} - {walk}"
    return " + ".join(part for part in (walk, str(one.first) if one.first else "") if part) or "0"


def access_explorer() -> Explorer:
    """Explore what one request of a warp costs, by stride, offset and dtype.

    The sliders move with the arrow keys. Sectors are counted as the SIMT machine counts them.
    """
    require.package("ipywidgets", "gl.plot.access_explorer")
    controls = {
        "stride": slider("stride", 2, *STRIDES),
        "offset": slider("offset", 0, *OFFSETS),
        "dtype": dropdown("dtype", DTYPES, "float32"),
    }
    return Explorer(draw_access, controls)


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
            _draw_banks(axes, touch, warp)
        else:
            _draw_sectors(axes, touch, warp)
        axes.set_title(f"{touch.array}, line {line}, warp {warp}: {touch.kind}", loc="left")
    return show(made, sentence(touch, warp))


def _boxes(axes: Any, places: list[float], y: float, marked: set[int], labels: list[str]) -> None:
    for n, (x, label) in enumerate(zip(places, labels, strict=True)):
        used = n in marked
        look: dict[str, Any] = {"facecolor": "none", "hatch": "///", "alpha": 0.3}
        if used:
            look = {"facecolor": "C0", "hatch": "", "alpha": 0.85}
        box(axes, x - 0.46, y - 0.12, 0.92, 0.24, edgecolor="0.5", **look)
        centred(axes, x, y, label, fontsize=7, color="white" if used else "0.4")


def _frame_banks(axes: Any, below: str) -> None:
    axes.set_xlim(-1, 32)
    axes.set_ylim(-0.35, 1.35)
    axes.set_yticks([0, 1], [below, "lane"])
    axes.set_xticks([])
    axes.set_xlabel(f"one request of a warp: its 32 lanes, and the {below.split()[0]}s they touch")
    axes.grid(visible=False)


def _draw_sectors(axes: Any, touch: Touch, warp: int) -> None:
    elements = np.asarray(touch.warp(warp))
    draw_request(axes, np.where(elements != IDLE, elements * touch.size, AWAY), touch.size)


def _draw_banks(axes: Any, touch: Touch, warp: int) -> None:
    lanes = touch.warp(warp)
    active = {n for n, e in enumerate(lanes) if e != IDLE}
    words: dict[int, set[int]] = {}
    for n in active:
        word = lanes[n] * touch.size // BANK_BYTES
        words.setdefault(word % BANKS, set()).add(word)
    labels = [str(len(words[b])) if b in words else "" for b in range(BANKS)]
    places = [float(n) for n in range(32)]
    _boxes(axes, places, 1, active, [str(n) for n in range(32)])
    _boxes(axes, places, 0, set(words), labels)
    for n in sorted(active):
        bank = lanes[n] * touch.size // BANK_BYTES % BANKS
        conflict = len(words[bank]) > 1
        axes.plot([n, bank], [0.88, 0.12], color="C1" if conflict else "C0",
                  linestyle="--" if conflict else "-", linewidth=0.8, alpha=0.7)  # fmt: skip
    _frame_banks(axes, "bank\n(words in it)")


TALL = 0.3  # of a sector's box
MARGIN = 0.04  # at both sides of a box
WIDEST = 2.0  # few sectors look like few, and are wide enough to read
LEGEND = "filled: asked for; hatched: moved and not used; below: the sector's number"


def draw_request(axes: Any, addresses: np.ndarray[Any, Any], size: int) -> None:
    """Draw lanes above, sectors below, and a line from each lane to what it touches.

    Args:
        axes: where to draw; its scales and labels are set.
        addresses: the first byte that each of the 32 lanes touches, or AWAY for a lane that
            takes no part; shape (32,).
        size: bytes that a lane touches.
    """
    active = [(lane, byte) for lane, byte in enumerate(addresses.tolist()) if byte != AWAY]
    bytes_used = sorted({byte + k for _, byte in active for k in (0, size - 1)})
    touched = sorted({byte // SECTOR for byte in bytes_used})
    step = min(WIDEST, WARP / max(len(touched), 1))
    left = (WARP - step * len(touched)) / 2 + MARGIN
    place = {sector: left + step * k for k, sector in enumerate(touched)}
    wide = step - 2 * MARGIN
    _sector_boxes(axes, place, wide)
    edge = 0.3 if size > 1 else 0.0
    for start in sorted({byte for _, byte in active}):
        for sector in {start // SECTOR, (start + size - 1) // SECTOR}:  # it may lie across two
            first = max(start, sector * SECTOR) - sector * SECTOR
            last = min(start + size, (sector + 1) * SECTOR) - sector * SECTOR
            x, width = place[sector] + wide * first / SECTOR, wide * (last - first) / SECTOR
            box(axes, x, 0, width, TALL, facecolor="C0", edgecolor="white", linewidth=edge)
    for x in place.values():
        box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.2", linewidth=0.8)
    _lanes(axes, {lane for lane, _ in active})
    for lane, byte in active:
        x = place[byte // SECTOR] + wide * (byte % SECTOR + size / 2) / SECTOR
        axes.plot([lane + 0.5, x], [1, TALL], color="C0", linewidth=0.7, alpha=0.8)
    _frame_sectors(axes)


def _sector_boxes(axes: Any, place: dict[int, float], wide: float) -> None:
    """Hatched boxes with their numbers, which are turned where they would not fit."""
    turned = 90 if len(place) > 16 and max(place) > 999 else 0
    for sector, x in place.items():
        box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.7", hatch="////", linewidth=0)
        axes.text(x + wide / 2, -0.06, str(sector), ha="center", va="top", fontsize=7,
                  rotation=turned)  # fmt: skip


def _lanes(axes: Any, active: set[int]) -> None:
    for lane in range(WARP):
        fill, edge = ("C0", "0.2") if lane in active else ("none", "0.7")
        box(axes, lane + MARGIN, 1, 1 - 2 * MARGIN, 0.24, facecolor=fill, edgecolor=edge)
        colour = "white" if lane in active else "0.4"
        centred(axes, lane + 0.5, 1.12, str(lane), fontsize=7, color=colour)


def _frame_sectors(axes: Any) -> None:
    axes.set_xlim(-0.2, WARP + 0.2)
    axes.set_ylim(-0.25, 1.3)
    axes.set_yticks([TALL / 2, 1.12], ["sectors of\n32 bytes", "lanes"])
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(visible=False)
    axes.set_xlabel(LEGEND)

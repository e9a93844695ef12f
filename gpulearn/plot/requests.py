"""Draws one request of a warp to global memory: its lanes, and the sectors that they touch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.simt.observers.traffic import AWAY, SECTOR, WARP

__all__ = ["draw_request"]

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
    _sectors(axes, place, wide)
    edge = 0.3 if size > 1 else 0.0
    for start in sorted({byte for _, byte in active}):
        for sector in {start // SECTOR, (start + size - 1) // SECTOR}:  # it may lie across two
            first = max(start, sector * SECTOR) - sector * SECTOR
            last = min(start + size, (sector + 1) * SECTOR) - sector * SECTOR
            x, width = place[sector] + wide * first / SECTOR, wide * (last - first) / SECTOR
            _box(axes, x, 0, width, TALL, facecolor="C0", edgecolor="white", linewidth=edge)
    for x in place.values():
        _box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.2", linewidth=0.8)
    _lanes(axes, {lane for lane, _ in active})
    for lane, byte in active:
        x = place[byte // SECTOR] + wide * (byte % SECTOR + size / 2) / SECTOR
        axes.plot([lane + 0.5, x], [1, TALL], color="C0", linewidth=0.7, alpha=0.8)
    _frame(axes)


def _box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **look))


def _sectors(axes: Any, place: dict[int, float], wide: float) -> None:
    """Hatched boxes with their numbers, which are turned where they would not fit."""
    turned = 90 if len(place) > 16 and max(place) > 999 else 0
    for sector, x in place.items():
        _box(axes, x, 0, wide, TALL, facecolor="none", edgecolor="0.7", hatch="////", linewidth=0)
        axes.text(x + wide / 2, -0.06, str(sector), ha="center", va="top", fontsize=7,
                  rotation=turned)  # fmt: skip


def _lanes(axes: Any, active: set[int]) -> None:
    for lane in range(WARP):
        fill, edge = ("C0", "0.2") if lane in active else ("none", "0.7")
        _box(axes, lane + MARGIN, 1, 1 - 2 * MARGIN, 0.24, facecolor=fill, edgecolor=edge)
        axes.text(lane + 0.5, 1.12, str(lane), ha="center", va="center", fontsize=7,
                  color="white" if lane in active else "0.4")  # fmt: skip


def _frame(axes: Any) -> None:
    axes.set_xlim(-0.2, WARP + 0.2)
    axes.set_ylim(-0.25, 1.3)
    axes.set_yticks([TALL / 2, 1.12], ["sectors of\n32 bytes", "lanes"])
    axes.tick_params(length=0)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(visible=False)
    axes.set_xlabel(LEGEND)

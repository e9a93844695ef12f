"""Bank conflicts: which banks of shared memory one request of a warp reads, and how often.

Shared memory is drawn as 32 banks side by side, each 4 bytes wide, one row below the other. Words
in one column are in one bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.display import Picture, show
from gpulearn.plot.controls import Explorer, dropdown, slider
from gpulearn.plot.style import box, centered, figure
from gpulearn.require import counted
from simt.observers.traffic import BANK_BYTES, BANKS, WARP, bank_passes

SIZES = {"4 bytes (float32)": 4, "8 bytes (float64)": 8, "2 bytes (float16)": 2}

ROWS = 2  # the fewest that are drawn, so that cells do not grow out of proportion


@dataclass(frozen=True)
class BankRequest:
    """One request: lane k of a warp reads word `offset + stride·k` of shared memory.

    >>> [BankRequest(stride).conflicts for stride in (1, 2, 32, 33)]
    [0, 1, 31, 0]
    """

    stride: int = 1
    offset: int = 0
    word_bytes: int = 4

    @property
    def addresses(self) -> np.ndarray[Any, Any]:
        """The first byte of each lane's word, shape (32,)."""
        return np.asarray((self.offset + self.stride * np.arange(WARP)) * self.word_bytes)

    @property
    def passes(self) -> int:
        """Passes over shared memory until every lane has its word."""
        return int(bank_passes(self.addresses[None, :], self.word_bytes)[0][0])

    @property
    def least(self) -> int:
        """Passes that words of this width need at best: 1, and 2 for words of 8 bytes."""
        return int(bank_passes(self.addresses[None, :], self.word_bytes)[1][0])

    @property
    def conflicts(self) -> int:
        return self.passes - self.least

    @property
    def cells(self) -> dict[int, list[int]]:
        """Each 4-byte cell of shared memory that is read → the lanes that read it."""
        readers: dict[int, list[int]] = {}
        for lane, byte in enumerate(self.addresses.tolist()):
            last = byte + self.word_bytes - 1
            for cell in range(byte // BANK_BYTES, last // BANK_BYTES + 1):
                readers.setdefault(cell, []).append(lane)
        return readers

    @property
    def banks(self) -> int:
        """How many of the 32 banks are read at all."""
        return len({cell % BANKS for cell in self.cells})


def draw(stride: int, offset: int, word_bytes: int) -> tuple[Picture, str]:
    """The picture of one request and its sentence; the explorer's whole logic."""
    request = BankRequest(stride, offset, word_bytes)
    least = request.least
    best = "" if least == 1 else f" ({least} at best for words of {word_bytes} bytes)"
    passes = counted(request.passes, "pass", "passes")
    conflicts = request.conflicts
    clash = counted(conflicts, "bank conflict") if conflicts else "no bank conflict"
    text = (
        f"Stride {stride}, offset {offset}, words of {word_bytes} bytes: the warp reads "
        f"{request.banks} of 32 banks in {passes}{best}: {clash}."
    )
    with figure(9.5, 5.2) as (fig, axes):
        _memory(axes, request)
    return show(
        fig,
        f"Shared memory as 32 columns, one for each bank: the words of 32 lanes are in "
        f"{counted(request.banks, 'column')}, so it takes {passes} to read them.",
    ), text


def _memory(axes: Any, request: BankRequest) -> None:
    """The cells that are read, in their banks; under each bank, how many."""
    rows = sorted({cell // BANKS for cell in request.cells})
    place = {row: k for k, row in enumerate(rows)}
    bottom = max(len(rows), ROWS)
    high = bottom / 6  # of what is below the rows
    per_bank = [sum(cell % BANKS == bank for cell in request.cells) for bank in range(BANKS)]
    # the banks that make the warp wait
    slow = {b for b, n in enumerate(per_bank) if n == max(per_bank) and request.conflicts}
    for cell, lanes in request.cells.items():
        bank, y = cell % BANKS, place[cell // BANKS]
        fill, color = ("C1", "black") if bank in slow else ("C0", "white")
        box(axes, bank, y, 1, 1, facecolor=fill, edgecolor="white", linewidth=0.5)
        label = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}…{lanes[-1]}"
        size = 6 if len(lanes) > 1 or bottom > 16 else 9
        centered(axes, bank + 0.5, y + 0.5, label, fontsize=size, color=color)
    for bank, count in enumerate(per_bank):
        weight = "bold" if bank in slow else "normal"
        centered(axes, bank + 0.5, bottom + 0.7 * high, str(count or "·"), fontsize=8,
                 weight=weight)  # fmt: skip
        if bank in slow:  # a frame as well, so that color does not stand alone
            tall = bottom + 1.3 * high
            box(axes, bank, 0, 1, tall, facecolor="none", edgecolor="0.1", linewidth=1.3)
    axes.set(xlim=(0, BANKS), ylim=(bottom + 1.4 * high, 0))
    axes.xaxis.tick_top()
    axes.set_xticks([bank + 0.5 for bank in range(0, BANKS, 4)], range(0, BANKS, 4))
    axes.set_xticks(range(BANKS + 1), minor=True)
    axes.tick_params(which="both", length=0)
    step = -(-len(rows) // 8)
    ticks = [(place[row] + 0.5, str(row * BANKS)) for row in rows[::step]]
    ticks.append((bottom + 0.7 * high, "words in\nthis bank"))
    axes.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
    unit = "word" if request.word_bytes == 4 else "4-byte cell"
    axes.set_ylabel(f"rows of 32, by their first {unit}")
    axes.grid(visible=False)
    axes.grid(visible=True, which="minor", axis="x")
    axes.set_title("bank", fontsize=11)
    axes.set_xlabel(
        "number in a cell: the lane that reads it; framed: the banks that make the warp wait"
    )


def bank_explorer() -> Explorer:
    """Explore which banks one request of a warp reads, by stride, offset, and size of a word.

    Passes are counted as the SIMT machine counts them.
    """
    controls = {
        "stride": slider("stride", 1, 0, 40),
        "offset": slider("offset", 0, 0, 31),
        "word_bytes": dropdown("word", SIZES, 4),
    }
    return Explorer(draw, controls)

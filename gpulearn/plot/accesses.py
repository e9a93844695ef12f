"""The access-pattern explorer of notebook 04: which sectors one request of a warp touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.controls import slider
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.requests import draw_request
from gpulearn.plot.style import figure
from gpulearn.simt.observers.traffic import SECTOR, WARP, sectors

__all__ = ["DTYPES", "Access", "access", "access_explorer", "draw"]

DTYPES = ("uint8", "float16", "float32", "float64")
STRIDES, OFFSETS = (-4, 33), (0, 32)


@dataclass(frozen=True)
class Access:
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


def access(stride: int = 1, offset: int = 0, dtype: str = "float32") -> Access:
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
    return Access(int(stride), int(offset), require.choice("dtype", dtype, DTYPES))


def draw(stride: int, offset: int, dtype: str) -> tuple[Picture, str]:
    """The picture of one request and its sentence; the explorer's whole logic."""
    one = access(stride, offset, dtype)
    best = access(1, 0, dtype).sectors
    used = f"{100 * one.used_share:.3g} %"
    said = (
        f"{dtype}, stride {stride}, offset {offset}: {_sectors(one.sectors)} for one request of "
        f"a warp, {used} of {one.bytes_moved:,} bytes used. "
        f"Neighbours from offset 0 need {_sectors(best)}."
    )
    with figure(9.5, 3.0) as (made, axes):
        draw_request(axes, one.addresses, one.size)
        axes.set_title(f"one request: lane k touches a[{_index(one)}]", loc="left")
    elements = one.bytes_used // one.size
    alt = (
        f"Lines lead from 32 lanes to {elements} element{'s' * (elements > 1)} of {dtype} in "
        f"{_sectors(one.sectors)}; {used} of the sectors' bytes are asked for."
    )
    return show(made, alt), said


def _sectors(count: int) -> str:
    return f"{count} sector{'s' * (count != 1)}"


def _index(one: Access) -> str:
    """How the index reads in Python, for lane k."""
    walk = {0: "", 1: "k"}.get(abs(one.stride), f"{abs(one.stride)} * k")
    if one.stride < 0:
        return f"{one.first} - {walk}"
    return " + ".join(part for part in (walk, str(one.first) if one.first else "") if part) or "0"


def access_explorer() -> Explorer:
    """Explore what one request of a warp costs, by stride, offset and dtype.

    The sliders move with the arrow keys. Sectors are counted as the SIMT machine counts them.
    """
    widgets = require.package("ipywidgets", "gl.plot.access_explorer")
    controls = {
        "stride": slider("stride", 2, *STRIDES),
        "offset": slider("offset", 0, *OFFSETS),
        "dtype": widgets.Dropdown(options=DTYPES, value="float32", description="dtype"),
    }
    return Explorer(draw, controls)

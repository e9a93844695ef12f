"""The ladder of matrix products: its rungs in order, and how each is launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn.kernels import matmul_ladder, matmul_pairs, matmul_registers, matmul_warp_tiles
from gpulearn.simt.host.xray import xray

if TYPE_CHECKING:
    from gpulearn.simt.report.report import Report

__all__ = ["LADDER", "PUBLISHED", "PUBLISHED_SOURCE", "Rung", "ladder_reports"]

Matrix = np.ndarray[tuple[int, int], Any]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder with its launch.

    Attributes:
        name: what it is called in tables.
        kernel: computes C = A·B from (a, b, c).
        block: threads along x and y.
        covers: elements of C that one block computes, along x and y.
        x_is_row: whether x counts the rows of C.
        pairs: whether it takes its matrices as int64 words of two float32.
    """

    name: str
    kernel: Any
    block: Pair
    covers: Pair
    x_is_row: bool = False
    pairs: bool = False

    def grid(self, m: int, p: int) -> Pair:
        """Blocks along x and y for a C of shape (m, p).

        >>> LADDER["naive"].grid(100, 50)
        (4, 7)
        """
        along = (m, p) if self.x_is_row else (p, m)
        return (-(-along[0] // self.covers[0]), -(-along[1] // self.covers[1]))

    def arguments(self, a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
        """The three matrices (float32, on the device) as the kernel takes them."""
        if not self.pairs:
            return a, b, c
        return a.view(np.int64), b.view(np.int64), c.view(np.int64)

    def launch(self, a: Any, b: Any, c: Any) -> None:
        """Compute C = A·B for float32 matrices on the device; `pairs` needs even row lengths."""
        grid = self.grid(*c.shape)
        self.kernel[grid, self.block](*self.arguments(a, b, c))

    def report(self, a: Any, b: Any, c: Any) -> Report:
        """The same launch under the lens."""
        grid = self.grid(*c.shape)
        return xray(self.kernel)[grid, self.block](*self.arguments(a, b, c))


_tile, _register, _warp = matmul_ladder.TILE, matmul_registers, matmul_warp_tiles
_rungs = (
    Rung("naive", matmul_ladder.matmul_naive, (32, 8), (32, 8), x_is_row=True),
    Rung("coalesced", matmul_ladder.matmul_coalesced, (32, 8), (32, 8)),
    Rung("shared tile", matmul_ladder.matmul_tiled, (_tile, _tile), (_tile, _tile)),
    Rung(
        "register strip",
        matmul_registers.matmul_register_strip,
        (_register.COLUMNS, _register.DEPTH),
        (_register.COLUMNS, _register.ROWS),
    ),
    Rung(
        "register tile",
        matmul_registers.matmul_register_tiled,
        (_register.ALONG, _register.DOWN),
        (_register.COLUMNS, _register.ROWS),
    ),
    Rung(
        "wide loads",
        matmul_pairs.matmul_vectorised,
        (_register.ALONG, _register.DOWN),
        (_register.COLUMNS, _register.ROWS),
        pairs=True,
    ),
    Rung("warp tiles", _warp.matmul_warp_tiles, (_warp.THREADS, 1), (_warp.COLUMNS, _warp.ROWS)),
)
LADDER = {rung.name: rung for rung in _rungs}

# Share of cuBLAS's rate that kernels built on the same ideas reached elsewhere, in CUDA C++.
# Their tiles are not ours: 32, 64 × 64 × 8 and 128 × 128 × 8.
PUBLISHED = {
    "naive": 0.013,
    "coalesced": 0.085,
    "shared tile": 0.128,
    "register strip": 0.365,
    "register tile": 0.687,
    "wide loads": 0.784,
    "warp tiles": 0.937,
}
PUBLISHED_SOURCE = "SGEMM_CUDA (S. Boehm), CUDA C++ on an RTX A6000, n = 4096"


def ladder_reports(n: int = 256) -> dict[str, Report]:
    """Each rung's report for a product of two n × n matrices of random numbers.

    Raises:
        BadInput: n is not a whole number above zero, or is odd.

    >>> ladder_reports(64)["shared tile"].totals.barriers
    512
    """
    n = require.whole("n", n)
    if n % 2:
        raise BadInput(f"n is {n}: give an even n, since the sixth rung loads pairs.")
    rng = np.random.default_rng(0)
    a, b = (cuda.to_device(rng.standard_normal((n, n), dtype=np.float32)) for _ in "ab")
    made = {}
    for rung in LADDER.values():
        made[rung.name] = rung.report(a, b, cuda.device_array((n, n), np.float32))
    return made

"""The ladder of matrix products: its rungs in order, and how each is launched."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn.kernels.specification import Specification
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_COALESCED, MATMUL_NAIVE, MATMUL_TILED
from gpulearn_lessons.matmul.matmul_pairs import MATMUL_VECTORIZED
from gpulearn_lessons.matmul.matmul_registers import MATMUL_REGISTER_STRIP, MATMUL_REGISTER_TILED
from gpulearn_lessons.matmul.matmul_warp_tiles import MATMUL_WARP_TILES
from simt.host.xray import xray
from simt.observers.counters import Counts

if TYPE_CHECKING:
    from simt.report.report import Report

Pair = tuple[int, int]


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder with its launch."""

    name: str  # what it is called in tables
    specification: Specification  # of a kernel that computes C = A·B from (a, b, c)

    # whether it takes its float32 matrices as int64 words of two; rows are even then
    pairs: bool = False

    @property
    def kernel(self) -> Any:
        """What is launched."""
        return self.specification.kernel

    @property
    def block(self) -> Pair:
        """Threads along x and y."""
        return cast("Pair", self.specification.block)

    def arguments(self, *matrices: Any) -> tuple[Any, ...]:
        """The float32 matrices as the kernel takes them."""
        return tuple(x.view(np.int64) for x in matrices) if self.pairs else matrices

    def launch(self, a: Any, b: Any, c: Any) -> None:
        """Compute C = A·B for float32 matrices on the device."""
        args = self.arguments(a, b, c)
        self.kernel[self.specification.shape(*args)](*args)

    def report(self, a: Any, b: Any, c: Any) -> Report:
        """The same launch under the lens."""
        args = self.arguments(a, b, c)
        return xray(self.kernel)[self.specification.shape(*args)](*args)

    def sample(self, n: int, k: int) -> Report:
        """The report for random matrices (n, k) and (k, n)."""
        rng = np.random.default_rng(0)
        a, b = (
            cuda.to_device(rng.standard_normal(shape, dtype=np.float32))
            for shape in ((n, k), (k, n))
        )
        return self.report(a, b, cuda.device_array((n, n), np.float32))


_rungs = (
    Rung("naive", MATMUL_NAIVE),
    Rung("coalesced", MATMUL_COALESCED),
    Rung("shared tile", MATMUL_TILED),
    Rung("register strip", MATMUL_REGISTER_STRIP),
    Rung("register tile", MATMUL_REGISTER_TILED),
    Rung("wide loads", MATMUL_VECTORIZED, pairs=True),
    Rung("warp tiles", MATMUL_WARP_TILES),
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
PUBLISHED_SOURCE = "SGEMM_CUDA (S. Boehm), CUDA C++ on an RTX A6000, n = 4092"
# cuBLAS there, in GFLOP/s, by the float32 peak of the A6000's data sheet
CUBLAS_BY_PEAK = 23_249.6 / 38_700
SIDE = 128  # every rung's tiles divide it
NOT_ADDITIVE = ("distinct_sectors", "block_sectors", "atomic_contention")


def ladder_counts(n: int = 4096) -> dict[str, Counts]:
    """Each rung's counters for a product of two n × n matrices, without launching it.

    A block walks along k and then stores its part of C, so the counters of one tile of C are
    a + b·k. Two small launches give a and b; with n² / 128² such tiles the counters are exact, for
    multiples of 128. What a cache would keep (`distinct_sectors`) does not add up, and is 0.

    >>> ladder_counts(4096)["warp tiles"].flops32 == 2 * 4096**3
    True
    """
    n = require.whole("n", n)
    if n % SIDE:
        raise BadInput(f"n is {n}: give a multiple of {SIDE}, which the tiles of all rungs divide.")
    products = {}
    for rung in LADDER.values():
        half, whole = (_tile_counts(rung, k) for k in (SIDE // 2, SIDE))
        sums = dict.fromkeys(NOT_ADDITIVE, 0)
        for name in {field.name for field in fields(Counts)} - sums.keys():
            first, second = getattr(half, name), getattr(whole, name)
            slope = (second - first) * n // (SIDE // 2)  # a multiple of n / 64
            sums[name] = (n // SIDE) ** 2 * (2 * first - second + slope)
        products[rung.name] = Counts(**sums)
    return products


@functools.cache  # the same for every n
def _tile_counts(rung: Rung, k: int) -> Counts:
    return rung.sample(SIDE, k).totals

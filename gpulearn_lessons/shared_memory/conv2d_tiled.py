"""The tiled 2-D convolution, with a halo: all of the notebook at once."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn.kernels.transpose import TILE
from gpulearn_lessons.shared_memory.convolution import CONV2D_TILED, REACH, SIDE

FILTER = 2 * REACH + 1

ONCE = (
    "Neighboring outputs need almost the same pixels: let the block load each of them once, halo "
    "included, and read them only from the shared tile."
)
SHARED_OUT = (
    "One thread loads many pixels, one after the other: let thread (tx, ty) load the cell in row "
    "ty and column tx, then those TILE rows and columns further on."
)
COALESCED = (
    "Neighboring lanes differ in threadIdx.x: let it run along the rows of the image, of the tile, "
    "and of out."
)
SINGLE = (
    "A sum that starts from 0.0 is a float64: start it from np.float32(0), so that float32 stays "
    "float32."
)
BARRIERS = "One barrier is enough: between filling the tile and reading it."
CONFLICTS = "Let the lanes of a warp read neighboring words of one row of the tile."


def cases() -> list[Launch]:
    """Images that tiles cover exactly and that they do not, with a filter without symmetry."""
    rng = np.random.default_rng(9)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        image = rng.normal(size=(h, w)).astype(np.float32)
        weights = rng.normal(size=(FILTER, FILTER)).astype(np.float32)
        args = image, weights, np.empty_like(image)
        x, y = blocks_along((w, h), (TILE, TILE))
        return Launch.of(
            CONV2D_TILED, f"an image of {h} × {w}{more}", *args,
            grid=(x + spare, y + spare), measured=measured,
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72),
        launch(33, 35),
        launch(1, 70),
        launch(20, 30, " and a grid larger than it needs", spare=1),
    ]


def blocks(launch: Launch) -> int:
    return int(np.prod(launch.grid))


def limit(launch: Launch) -> int:
    """Bytes that may move: tiles with halo in, outputs out, a weight per warp and product."""
    # a row of a tile with its halo begins 8 bytes before a sector: 5 sectors, and 2 for the rest
    return 32 * blocks(launch) * (SIDE * (5 + 2) + TILE * 4 + TILE * FILTER**2)


EXERCISE = kernel_exercise(
    CONV2D_TILED,
    task="Apply the 5 × 5 filter to each pixel, with each pixel loaded to the block's tile once.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(6, advice=COALESCED),
        # a thread that loads for its block makes over 1,000 requests, the naive kernel 25 a warp
        budgets.requests(lambda launch: 30 * TILE * blocks(launch), of=0, advice=SHARED_OUT),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.bank_conflicts(0, advice=CONFLICTS),
        budgets.barriers(1, advice=BARRIERS),
        *budgets.float64_sums(advice=SINGLE),
    ),
)

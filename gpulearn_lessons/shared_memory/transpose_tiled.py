"""The tiled transpose for any size: coalesced on both sides, no bank conflict."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.specification import blocks_along
from gpulearn.kernels.transpose import TILE, TRANSPOSE_TILED

COALESCED = (
    "Neighboring lanes differ in threadIdx.x: let it run along a row of the image in the load and "
    "along a row of out in the store, and transpose in the tile between them."
)
PADDING = (
    "Words that are 32 words apart share a bank. Give each row of the tile one extra float: "
    "(TILE, PADDED)."
)
ALONE = "Let each thread load one element and store one, so that a warp moves 32 at once."
SINGLE = "A float64 takes two words of shared memory: make the tile np.float32, as the image is."
BARRIERS = "One barrier is enough: between filling the tile and reading it."


def cases() -> list[Launch]:
    """Pictures that tiles cover exactly, that they do not, and a grid that is too large."""
    rng = np.random.default_rng(6)

    def launch(h: int, w: int, more: str = "", spare: int = 0, measured: bool = False) -> Launch:
        args = rng.normal(size=(h, w)).astype(np.float32), np.empty((w, h), np.float32)
        x, y = blocks_along((w, h), (TILE, TILE))
        return Launch.of(
            TRANSPOSE_TILED, f"an image of {h} × {w}{more}", *args,
            grid=(x + spare, y + spare), measured=measured,
        )  # fmt: skip

    return [
        launch(64, 64, measured=True),
        launch(40, 72, measured=True),
        launch(33, 97),
        launch(1, 70),
        launch(50, 20, " and a grid larger than it needs", spare=1),
    ]


def requests(launch: Launch) -> int:
    """Loads and stores of warps: one of each for each row of a tile."""
    return 2 * TILE * int(np.prod(launch.grid))


EXERCISE = kernel_exercise(
    TRANSPOSE_TILED,
    task="Transpose an image of any size: at most 4 sectors on both sides, no bank conflict.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=COALESCED),
        budgets.requests(requests, advice=ALONE),
        budgets.bank_conflicts(0, advice=PADDING),
        budgets.shared_passes(2 * TILE, advice=SINGLE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

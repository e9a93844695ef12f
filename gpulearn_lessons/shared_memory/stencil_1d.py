"""The 1-D stencil: a block loads its stretch and the halo, once."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.blocks import BLOCK
from gpulearn.kernels.specification import blocks_along
from gpulearn_lessons.shared_memory.stencil import STENCIL_1D

ONCE = (
    "Neighboring outputs need almost the same inputs: let the block load each of them once, halo "
    "included; add up in a variable, reading only from the shared window, and write each output "
    "once."
)
SHARED_OUT = (
    "One thread loads many elements, one after the other: let thread t load cell t, then cell "
    "t + BLOCK."
)
SINGLE = (
    "A sum that starts from 0.0 is a float64: start it from np.float32(0), so that float32 stays "
    "float32."
)
COALESCED = "Let neighboring threads load neighboring elements: cell t first, then cell t + BLOCK."
BARRIERS = "One barrier is enough: between filling the window and reading it."


def cases() -> list[Launch]:
    """Vectors of full blocks, of odd sizes, shorter than the stencil, and one block too many."""
    rng = np.random.default_rng(7)

    def launch(n: int, label: str, spare: int = 0) -> Launch:
        a = rng.normal(size=n).astype(np.float32)
        grid = blocks_along(n, BLOCK) + spare
        return Launch.of(STENCIL_1D, f"{n} elements in {label}", a, np.empty_like(a), grid=grid)

    return [
        launch(4 * BLOCK, "4 full blocks"),
        launch(2 * BLOCK + 37, "3 blocks, the last of them with 37 elements"),
        launch(BLOCK + 1, "2 blocks, the last of them with one element"),
        launch(2, "one block"),
        launch(BLOCK - 1, "2 blocks, the second of them with nothing to do", spare=1),
    ]


def limit(launch: Launch) -> int:
    """Bytes that may move: every window in, every output out, and whole sectors at the edges."""
    # a warp's stretch begins RADIUS floats before a sector does, so that it touches a fifth one
    sectors = (BLOCK // 32) * (5 + 4) + 2
    return 32 * int(np.prod(launch.grid)) * sectors


def requests(launch: Launch) -> int:
    """Loads and stores of warps: a block's stretch, the halo on both sides, and its outputs."""
    return int(np.prod(launch.grid)) * (2 * BLOCK // 32 + 2)


EXERCISE = kernel_exercise(
    STENCIL_1D,
    task="Add up each element and its RADIUS neighbors on both sides, with each input loaded once.",
    cases=cases,
    alone=SHARED_OUT,
    budgets=(
        budgets.sectors_per_request(5, advice=COALESCED),
        # a thread that loads for its block makes 134 requests, the naive kernel 7 a warp
        budgets.requests(lambda launch: 3 * requests(launch), of=0, advice=SHARED_OUT),
        budgets.bytes_moved(limit, advice=ONCE),
        budgets.requests(requests, advice=ONCE),
        budgets.barriers(1, advice=BARRIERS),
        *budgets.float64_sums(advice=SINGLE),
    ),
)

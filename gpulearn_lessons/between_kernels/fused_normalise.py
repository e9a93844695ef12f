"""Layer normalisation in one kernel that reads each number once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn_lessons.between_kernels.normalisation import (
    EPSILON,
    FUSED_NORMALISE,
    MOST_COLUMNS,
    MOST_WARPS,
    fused_normalise,
    normalise_bytes,
)

FLOAT32 = (
    "A literal such as 0.0 is a float64, and so, by its type, is a float32 over a whole number: "
    "write np.float32(…) around it."
)
KEEP = (
    "Read each number of x from global memory once, keep it in shared memory, and take it from "
    "there for the variance and for the result."
)
NEIGHBOURS = "Let the 32 lanes of a warp take 32 neighbouring columns of one row."

answers = Answers(fused_normalise)

# what stands in the solution
COLUMNS = "x.shape[1], WARP):\n        "
SUM = """\
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
"""
SQUARES = """\
    for step in (16, 8, 4, 2, 1):
        squares += cuda.shfl_xor_sync(FULL_WARP, squares, step)
"""
SPREAD = "math.sqrt(squares / columns + EPSILON)"
RESULT = "(near[w, j] - mean) / spread"
AWAY = "        away = near[w, j] - mean\n        squares += away * away\n"


def cases() -> list[Launch]:
    """Rows of up to 256 numbers; around 0 and far from it, hardly spread, all equal."""
    rng = np.random.default_rng(7)
    shapes = (
        ("16 rows of 96 numbers, 4 blocks of 128", 16, 96, 0.0, 2.0, 128),
        ("7 rows of 70 numbers, 2 blocks of 128", 7, 70, 5.0, 2.0, 128),
        ("4 rows of 256 numbers near 100, 2 blocks of 64", 4, 256, 100.0, 0.5, 64),
        ("5 rows of 40 numbers that differ by thousandths, 2 blocks of 96", 5, 40, 0.0, 2e-3, 96),
        ("3 rows of 20 equal numbers, 3 blocks of 32", 3, 20, 2.0, 0.0, 32),
        ("2 rows of 1 number, one block of 128", 2, 1, 3.0, 0.0, 128),
    )
    made = []
    for label, m, n, middle, spread, block in shapes:
        x = (middle + rng.normal(0, 1, (m, n)) * spread).astype(np.float32)
        args = x, np.empty_like(x)
        made.append(Launch.of(FUSED_NORMALISE, label, *args, block=block, measured=n == 96))
    return made


answers.edit(
    {"away = near[w, j] - mean": "away = x[row, j] - mean", RESULT: "(x[row, j] - mean) / spread"},
    KEEP,
)
answers.edit({RESULT: "(x[row, j] - mean) / spread"}, KEEP)
answers.edit(
    {
        AWAY: "        squares += near[w, j] * near[w, j]\n",
        SPREAD: "math.sqrt(max(squares / columns - mean * mean, np.float32(0)) + EPSILON)",
    },
    "the variance is taken as the mean of the squares less the square of the mean: two large, "
    "nearly equal numbers, whose difference has few right digits. Take the mean from each number "
    "before you square it.",
)
answers.edit(
    {" + EPSILON": ""},
    "a row of equal numbers has the variance 0, and 0/0 is not a number: add EPSILON under the "
    "root.",
)
answers.edit(
    {SPREAD: "math.sqrt(squares / columns) + EPSILON"},
    "EPSILON is added to the root: it belongs under the root, to the variance.",
)
answers.edit(
    {SPREAD: "math.sqrt(squares / max(columns - np.float32(1), np.float32(1)) + EPSILON)"},
    "the squares are divided by n − 1: layer normalisation takes the mean of all n of them.",
)
answers.edit(
    {SPREAD: "math.sqrt(squares / (columns - np.float32(1)) + EPSILON)"},
    "the squares are divided by n − 1, which is 0 for a row of one number: layer normalisation "
    "takes the mean of all n of them.",
)
answers.edit(
    {SPREAD: "squares / columns + EPSILON"},
    "the row is divided by its variance: divide by the root of it.",
)
answers.edit(
    {RESULT: "near[w, j] / spread"},
    "the result is spread as it should be, and its mean is not 0: take the mean away too.",
)
answers.edit(
    {RESULT: "near[w, j] - mean"},
    "the mean is taken away, and nothing is divided by the root of the variance.",
)
answers.edit(
    {SUM: ""},
    "each lane takes away the sum of its own columns: the sums of the 32 lanes must be added up "
    "for the mean.",
)
answers.edit(
    {SQUARES: ""},
    "each lane divides by the squares of its own columns: those of the 32 lanes must be added up "
    "for the variance.",
)
answers.edit(
    {SUM: SUM.replace("xor", "down"), SQUARES: SQUARES.replace("xor", "down")},
    "after shfl_down_sync only lane 0 has the sum, and the other lanes go on with less: use "
    "shfl_xor_sync.",
)
answers.edit(
    {SUM: SUM.replace("xor", "down")},
    "after shfl_down_sync only lane 0 has the row's sum, and the other lanes take another mean "
    "away: use shfl_xor_sync.",
)
answers.edit(
    {"w = cuda.threadIdx.x // WARP": "w = 0"},
    "All warps of the block keep their rows in the same place of shared memory: give each warp "
    "one of its own.",
)
answers.edit(
    {
        "near[w, j] = value": "near[w, cuda.laneid] = value",
        "away = near[w, j]": "away = near[w, cuda.laneid]",
        RESULT: "(near[w, cuda.laneid] - mean) / spread",
    },
    "a lane keeps one number alone, and a row may have 256: keep each at its column.",
)
answers.edit(
    {
        COLUMNS + line: f"min(WARP, x.shape[1]), WARP):\n        {line}"
        for line in ("value", "away", "out")
    },
    "only the first 32 columns are handled: each lane goes on 32 columns further until the row "
    "ends.",
)
answers.edit(
    {"columns = np.float32(x.shape[1])": "columns = np.float32(WARP)"},
    "the sum is divided by 32: divide by the number of columns.",
)
answers.edit(
    {"mean = total / columns": "mean = total / np.float32(WARP)"},
    "the sum for the mean is divided by 32: divide by the number of columns.",
)
answers.edit(
    {"columns = np.float32(x.shape[1])": "columns = np.float32(MOST_COLUMNS)"},
    "the sums are divided by `MOST_COLUMNS`, the most that a row may have: divide by the number "
    "of columns that it has.",
)
answers.edit(
    {"    if row >= x.shape[0]:\n        return\n": ""},
    "There are more warps than rows: those without a row must leave before they read.",
)
answers.edit(
    {"columns = np.float32(x.shape[1])": "columns = x.shape[1]"},
    FLOAT32,
)


@answers.wrong(NEIGHBOURS)
def one_thread_for_a_row(x: Any, out: Any) -> None:
    row = cuda.grid(1)
    if row < x.shape[0]:
        columns = np.float32(x.shape[1])
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[row, j]
        mean = total / columns
        squares = np.float32(0)
        for j in range(x.shape[1]):
            squares += (x[row, j] - mean) * (x[row, j] - mean)
        spread = math.sqrt(squares / columns + EPSILON)
        for j in range(x.shape[1]):
            out[row, j] = (x[row, j] - mean) / spread


@answers.right
def in_local_memory(x: Any, out: Any) -> None:
    mine = cuda.local.array(8, np.float32)
    row, lane = cuda.grid(1) // 32, cuda.laneid
    if row >= x.shape[0]:
        return
    mean = np.float32(0)
    for k in range(8):
        mine[k] = x[row, lane + 32 * k] if lane + 32 * k < x.shape[1] else np.float32(0)
        mean += mine[k]
    for step in (1, 2, 4, 8, 16):
        mean += cuda.shfl_xor_sync(FULL_WARP, mean, step)
    mean /= np.float32(x.shape[1])
    spread = np.float32(0)
    for k in range(8):
        if lane + 32 * k < x.shape[1]:
            mine[k] -= mean
            spread += mine[k] * mine[k]
    for step in (1, 2, 4, 8, 16):
        spread += cuda.shfl_xor_sync(FULL_WARP, spread, step)
    for k in range(8):
        if lane + 32 * k < x.shape[1]:
            out[row, lane + 32 * k] = mine[k] / math.sqrt(spread / np.float32(x.shape[1]) + EPSILON)


@answers.right
def with_a_barrier_of_the_warp(x: Any, out: Any) -> None:
    near = cuda.shared.array((MOST_WARPS, MOST_COLUMNS), np.float32)
    row = cuda.grid(1) // WARP
    w, lane = cuda.threadIdx.x // WARP, cuda.laneid
    if row < x.shape[0]:
        n = x.shape[1]
        for j in range(lane, n, WARP):
            near[w, j] = x[row, j]
        cuda.syncwarp()
        total = np.float32(0)
        for j in range(n):  # every lane reads the whole row, near by
            total += near[w, j]
        mean = total / np.float32(n)
        squares = np.float32(0)
        for j in range(n):
            squares += (near[w, j] - mean) * (near[w, j] - mean)
        for j in range(lane, n, WARP):
            out[row, j] = (near[w, j] - mean) / math.sqrt(squares / np.float32(n) + EPSILON)


EXERCISE = kernel_exercise(
    FUSED_NORMALISE,
    task="Normalise each row in one kernel that reads each number from global memory once.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.bytes_moved(
            lambda launch: normalise_bytes(*launch.args[0].shape, fused=True), advice=KEEP
        ),
    ),
)

"""The softmax of each row, one warp for a row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.checker import budgets
from gpulearn.checker.answers import Answers
from gpulearn.checker.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import softmax_rows

__all__ = ["EXERCISE"]

FLOAT32 = "A literal such as 0.0 is float64: start sums with np.float32(0)."
SHARE_OUT = (
    "Each lane goes along its own part of the row, every 32nd score, and shuffles bring the lanes' "
    "results together."
)
NEIGHBOURS = "Let the 32 lanes of a warp take 32 neighbouring columns of one row."

answers = Answers()


def softmax(scores: Any, out: Any) -> tuple[Any]:
    """The specification, in float64."""
    above = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    return ((above / above.sum(axis=1, keepdims=True)).astype(np.float32),)


def cases() -> list[Launch]:
    """Rows longer than a warp and shorter, scores far up, far down, far apart, warps too many."""
    rng = np.random.default_rng(7)
    shapes = (
        ("7 rows of 70 scores, 2 blocks of 128", 7, 70, 0.0, 2, 128),
        ("16 rows of 96 scores, 4 blocks of 128", 16, 96, 0.0, 4, 128),
        ("4 rows of 40 scores above 800, one block of 128", 4, 40, 800.0, 1, 128),
        ("4 rows of 40 scores near −1,000,000, one block of 128", 4, 40, -1e6, 1, 128),
        ("3 rows of 5 scores, 3 blocks of 32", 3, 5, 0.0, 3, 32),
        ("1 row of 1 score, one block of 32", 1, 1, 0.0, 1, 32),
    )
    made = [
        Launch(
            label,
            (
                (middle + rng.uniform(-3, 3, (m, n))).astype(np.float32),
                np.empty((m, n), np.float32),
            ),
            grid=grid,
            block=block,
            outputs=(1,),
            measured=n == 96,
        )
        for label, m, n, middle, grid, block in shapes
    ]
    # neither another score of the row nor the largest of another row will do for its maximum
    far_apart = 400 * np.arange(-2, 3)[:, None] + rng.uniform(-150, 150, (5, 40))
    made.append(
        Launch(
            "5 rows of 40 scores from −950 to 950, 2 blocks of 96",
            (far_apart.astype(np.float32), np.empty((5, 40), np.float32)),
            grid=2,
            block=96,
            outputs=(1,),
        )
    )
    return made


@answers.wrong(
    "exp overflows in float32 beyond 88.7, and ∞/∞ is no number: take the row's largest score "
    "from every score first."
)
def no_maximum(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j])
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j]) / total


@answers.wrong(
    "the row's first score is taken from all, and not its largest: a score that lies 89 above the "
    "first still overflows."
)
def first_score_taken(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - scores[row, 0])
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - scores[row, 0]) / total


@answers.wrong(
    "each lane takes the largest of the scores that it has seen itself: the lanes of a warp must "
    "agree on one maximum before anybody calls exp."
)
def each_lane_its_own_maximum(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "each lane divides by the sum of its own columns: the sums of the 32 lanes must be added up."
)
def each_lane_its_own_sum(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "the maximum is taken away in the sum and not in the result, or the other way round: it "
    "cancels only if it is taken from both."
)
def maximum_in_the_sum_only(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j]) / total


@answers.wrong("the rows do not add up to 1: divide by the sum.")
def not_divided(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest)


@answers.wrong(
    "the search for the largest score starts at 0, so far below 0 every exp becomes 0: start at "
    "-math.inf, or at one of the row's scores."
)
def maximum_starts_at_0(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "the search for the largest score starts at a number that a row's scores may lie below: start "
    "at -math.inf, or at one of the row's scores."
)
def maximum_starts_at_minus_1000(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-1000)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "after shfl_down_sync only lane 0 has the result, and the other lanes go on with less: use "
    "shfl_xor_sync, after which every lane has it."
)
def only_lane_0_knows(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "after shfl_down_sync only lane 0 knows the largest score of the row, and the other lanes take "
    "away less: use shfl_xor_sync for the maximum too."
)
def only_lane_0_knows_the_maximum(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_down_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "after shfl_down_sync only lane 0 has the maximum, and later the sum: use shfl_xor_sync for "
    "both, after which every lane has them."
)
def only_lane_0_knows_both(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_down_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "only the first 32 columns are handled: each lane goes on 32 columns further until the row "
    "ends."
)
def first_32_columns(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    j = cuda.laneid
    largest = np.float32(-math.inf)
    if j < scores.shape[1]:
        largest = scores[row, j]
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    if j < scores.shape[1]:
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if j < scores.shape[1]:
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong("There are more warps than rows: those without a row must leave before they read.")
def row_not_guarded(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong("The columns end at shape[1] - 1: the range of the sum ends one too late.")
def a_column_too_many(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1] + 1, WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "a block has several warps, and each has a row of its own: the row is cuda.grid(1) // 32, not "
    "the block's number."
)
def one_row_per_block(scores: Any, out: Any) -> None:
    row = cuda.blockIdx.x
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    if cuda.threadIdx.x < WARP:
        for j in range(cuda.laneid, scores.shape[1], WARP):
            out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(
    "the rows are divided by their largest value instead of their sum: they must add up to 1."
)
def divided_by_the_largest(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = scores[row, j] / largest


@answers.wrong(
    "the first shuffle must reach 16 lanes far: with steps from 8 on, two halves of the warp never "
    "meet."
)
def halves_never_meet(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(FLOAT32)
def in_float64(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        largest = max(largest, scores[row, j])
    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
    total = 0.0
    for j in range(cuda.laneid, scores.shape[1], WARP):
        total += math.exp(scores[row, j] - largest)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.wrong(NEIGHBOURS)
def one_thread_for_a_row(scores: Any, out: Any) -> None:
    row = cuda.grid(1)
    if row < scores.shape[0]:
        largest = scores[row, 0]
        for j in range(scores.shape[1]):
            largest = max(largest, scores[row, j])
        total = np.float32(0)
        for j in range(scores.shape[1]):
            total += math.exp(scores[row, j] - largest)
        for j in range(scores.shape[1]):
            out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.right
def sums_sent_from_lane_0(scores: Any, out: Any) -> None:
    lane = cuda.threadIdx.x % 32
    row = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // 32
    if row < scores.shape[0]:
        columns = scores.shape[1]
        top = scores[row, 0]
        j = lane
        while j < columns:
            top = max(top, scores[row, j])
            j += 32
        for step in (1, 2, 4, 8, 16):
            top = max(top, cuda.shfl_xor_sync(FULL_WARP, top, step))
        weight = np.float32(0)
        j = lane
        while j < columns:
            out[row, j] = math.exp(scores[row, j] - top)
            weight += out[row, j]
            j += 32
        for step in (16, 8, 4, 2, 1):
            weight += cuda.shfl_down_sync(FULL_WARP, weight, step)
        weight = cuda.shfl_sync(FULL_WARP, weight, 0)
        j = lane
        while j < columns:
            out[row, j] /= weight
            j += 32


@answers.right
def maximum_and_sum_in_one_pass(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = np.float32(-1e30)
    total = np.float32(0)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        higher = max(largest, scores[row, j])
        total = total * math.exp(largest - higher) + math.exp(scores[row, j] - higher)
        largest = higher
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, largest, step)
        others_total = cuda.shfl_xor_sync(FULL_WARP, total, step)
        higher = max(largest, other)
        total = total * math.exp(largest - higher) + others_total * math.exp(other - higher)
        largest = higher
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - largest) / total


EXERCISE = kernel_exercise(
    name="softmax_rows",
    notebook="07_atomics_reductions_scans",
    task="Write the softmax of each row, for scores of any size, with one warp for a row.",
    reference=softmax_rows,
    cases=cases,
    expect=softmax,
    answers=answers,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.bytes_moved(lambda launch: 8 * launch.args[0].nbytes, advice=SHARE_OUT),
    ),
)

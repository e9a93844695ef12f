"""The softmax of each row, one warp for a row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn.kernels.softmax import SOFTMAX_ROWS, softmax_rows

FLOAT32 = "A literal such as 0.0, and math.inf too, is a float64: write np.float32(…) around it."
SHARE_OUT = (
    "Each lane goes along its own part of the row, every 32nd score, and shuffles bring the lanes' "
    "results together."
)
NEIGHBOURS = "Let the 32 lanes of a warp take 32 neighbouring columns of one row."

answers = Answers(softmax_rows)

# what stands in the solution
COLUMNS = "scores.shape[1], WARP):\n        "
SHARE_MAXIMUM = """    for step in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL_WARP, largest, step))
"""
SHARE_SUM = """    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(FULL_WARP, total, step)
"""
MAXIMUM = f"""    largest = np.float32(-math.inf)
    for j in range(cuda.laneid, {COLUMNS}largest = max(largest, scores[row, j])
{SHARE_MAXIMUM}"""
SHARE = "math.exp(scores[row, j] - largest) / total"


def cases() -> list[Launch]:
    """Rows longer than a warp and shorter, scores far up, far down, far apart, warps too many."""
    rng = np.random.default_rng(7)
    shapes = (
        ("7 rows of 70 scores, 2 blocks of 128", 7, 70, 0.0, 128),
        ("16 rows of 96 scores, 4 blocks of 128", 16, 96, 0.0, 128),
        ("4 rows of 40 scores above 800, one block of 128", 4, 40, 800.0, 128),
        ("4 rows of 40 scores near −1,000,000, one block of 128", 4, 40, -1e6, 128),
        ("3 rows of 5 scores, 3 blocks of 32", 3, 5, 0.0, 32),
        ("1 row of 1 score, one block of 32", 1, 1, 0.0, 32),
    )

    def launch(label: str, scores: Any, block: int) -> Launch:
        args = scores.astype(np.float32), np.empty(scores.shape, np.float32)
        return Launch.of(SOFTMAX_ROWS, label, *args, block=block, measured=scores.shape[1] == 96)

    made = [
        launch(label, middle + rng.uniform(-3, 3, (m, n)), block)
        for label, m, n, middle, block in shapes
    ]
    # neither another score of the row nor the largest of another row will do for its maximum
    far_apart = 400 * np.arange(-2, 3)[:, None] + rng.uniform(-150, 150, (5, 40))
    lowest = -1e35 * rng.integers(1, 4, (3, 40))
    made.append(launch("3 rows of 40 scores below −1e35, one block of 96", lowest, 96))
    made.append(launch("5 rows of 40 scores from −950 to 950, 2 blocks of 96", far_apart, 96))
    # the largest score is the last, or the first, of more than a warp has lanes
    in_order = np.sort(rng.uniform(-200, 200, (4, 70)))
    in_order[1::2] = in_order[1::2, ::-1]
    return [*made, launch("4 rows of 70 scores in order, 2 blocks of 64", in_order, 64)]


answers.edit(
    {MAXIMUM: "    largest = np.float32(0)\n"},
    "exp overflows in float32 beyond 88.7, and ∞/∞ is no number: take the row's largest score "
    "from every score first.",
)
answers.edit(
    {MAXIMUM: "    largest = scores[row, 0]\n"},
    "the row's first score is taken from all, and not its largest: a score that lies 89 above the "
    "first still overflows.",
)
answers.edit(
    {SHARE_MAXIMUM: ""},
    "each lane takes the largest of the scores that it has seen itself: the lanes of a warp must "
    "agree on one maximum before anybody calls exp.",
)
answers.edit(
    {SHARE_SUM: ""},
    "each lane divides by the sum of its own columns: the sums of the 32 lanes must be added up.",
)
answers.edit(
    {SHARE: "math.exp(scores[row, j]) / total"},
    "the maximum is taken away in the sum and not in the result, or the other way round: it "
    "cancels only if it is taken from both.",
)
answers.edit({" / total": ""}, "the rows do not add up to 1: divide by the sum.")
answers.edit(
    {"-math.inf": "0"},
    "the search for the largest score starts at 0, so far below 0 every exp becomes 0: start at "
    "np.float32(-math.inf), or at one of the row's scores.",
)
answers.edit(
    {"-math.inf": "-1e30"},
    "the search for the largest score starts at a number that a row's scores may lie below: start "
    "at np.float32(-math.inf), or at one of the row's scores.",
)
answers.edit(
    {MAXIMUM: MAXIMUM.replace("scores.shape[1], W", "min(WARP, scores.shape[1]), W")},
    "that is the largest of the first 32 scores: a row may be longer than a warp, so go on to its "
    "end.",
)
answers.edit(
    {"xor_sync(FULL_WARP, total": "down_sync(FULL_WARP, total"},
    "after shfl_down_sync only lane 0 has the result, and the other lanes go on with less: use "
    "shfl_xor_sync, after which every lane has it.",
)
answers.edit(
    {"xor_sync(FULL_WARP, largest": "down_sync(FULL_WARP, largest"},
    "after shfl_down_sync only lane 0 knows the largest score of the row, and the other lanes take "
    "away less: use shfl_xor_sync for the maximum too.",
)
answers.edit(
    {
        "xor_sync(FULL_WARP, largest": "down_sync(FULL_WARP, largest",
        "xor_sync(FULL_WARP, total": "down_sync(FULL_WARP, total",
    },
    "after shfl_down_sync only lane 0 has the maximum, and later the sum: use shfl_xor_sync for "
    "both, after which every lane has them.",
)
answers.edit(
    {
        COLUMNS + line: f"min(WARP, scores.shape[1]), WARP):\n        {line}"
        for line in ("largest", "total", "out")
    },
    "only the first 32 columns are handled: each lane goes on 32 columns further until the row "
    "ends.",
)
answers.edit(
    {"    if row >= scores.shape[0]:\n        return\n": ""},
    "There are more warps than rows: those without a row must leave before they read.",
)
answers.edit(
    {COLUMNS + "total": "scores.shape[1] + 1, WARP):\n        total"},
    "The columns end at shape[1] - 1: the range of the sum ends one too late.",
)
answers.edit(
    {
        "cuda.grid(1) // WARP": "cuda.blockIdx.x",
        COLUMNS + "out": f"{COLUMNS}if cuda.threadIdx.x < WARP:\n            out",
    },
    "a block has several warps, and each has a row of its own: the row is cuda.grid(1) // 32, not "
    "the block's number.",
)
answers.edit(
    {SHARE: "scores[row, j] / largest"},
    "the rows are divided by their largest value instead of their sum: they must add up to 1.",
)
answers.edit(
    {SHARE_SUM: SHARE_SUM.replace("16, ", "")},
    "the first shuffle must reach 16 lanes far: with steps from 8 on, two halves of the warp never "
    "meet.",
)
answers.edit(
    {
        MAXIMUM: "",
        "total += math.exp(scores[row, j] - largest)": (
            "total += math.exp(min(scores[row, j], np.float32(80)))"
        ),
        SHARE: "math.exp(min(scores[row, j], np.float32(80))) / total",
    },
    "scores above a fixed limit are cut off, so that all of them get the same share: take the "
    "row's largest score from every score instead.",
)
answers.edit(
    {"-math.inf": "-1000"},
    "the search for the largest score starts above all scores of some rows: start at "
    "np.float32(-math.inf), or at one of the row's scores.",
)
answers.edit({"np.float32(0)": "0.0"}, FLOAT32)


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
    largest = np.float32(-3.4e38)  # the least that a float32 can be, nearly
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
    SOFTMAX_ROWS,
    task="Write the softmax of each row, for scores of any size, with one warp for a row.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.bytes_moved(lambda launch: 8 * launch.args[0].nbytes, advice=SHARE_OUT),
    ),
)

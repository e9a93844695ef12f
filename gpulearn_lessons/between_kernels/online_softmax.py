"""The softmax of each row, whose maximum and sum come from one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP
from gpulearn_lessons.between_kernels.softmax_fused import (
    LOWEST,
    ONLINE_SOFTMAX,
    online_softmax,
    softmax_bytes,
)
from simt.observers.traffic import SECTOR

FLOAT32 = "A literal such as 0.0, and math.inf too, is a float64: write np.float32(…) around it."
ONE_PASS = (
    "Each score is to be read twice, by one lane each time, and each result written once. For the "
    "maximum and the sum together one read is enough: keep the largest so far and a sum for it, "
    "and scale the sum when a larger one comes."
)
NEIGHBOURS = "Let the 32 lanes of a warp take 32 neighbouring columns of one row."

answers = Answers(online_softmax)

# what stands in the solution
COLUMNS = "scores.shape[1], WARP):\n        "
OWN = "total = total * math.exp(largest - higher) + math.exp(score - higher)"
MERGED = "total = total * math.exp(largest - higher) + others_total * math.exp(other - higher)"
STEPS = "(16, 8, 4, 2, 1)"
SHARED = """\
        other = cuda.shfl_xor_sync(FULL_WARP, largest, step)
        others_total = cuda.shfl_xor_sync(FULL_WARP, total, step)
"""
LAST = "others_total * math.exp(other - higher)\n        largest = higher"


def cases() -> list[Launch]:
    """Rows longer than a warp and shorter; scores that rise along a row; far up, down, apart."""
    rng = np.random.default_rng(7)

    def launch(label: str, scores: Any, block: int, measured: bool = False) -> Launch:
        args = scores.astype(np.float32), np.empty(scores.shape, np.float32)
        return Launch.of(ONLINE_SOFTMAX, label, *args, block=block, measured=measured)

    shapes = (
        ("7 rows of 70 scores, 2 blocks of 128", 7, 70, 0.0, 128),
        ("4 rows of 40 scores above 800, one block of 128", 4, 40, 800.0, 128),
        ("4 rows of 40 scores near −1,000,000, one block of 128", 4, 40, -1e6, 128),
        ("3 rows of 5 scores, 3 blocks of 32", 3, 5, 0.0, 32),
        ("1 row of 1 score, one block of 32", 1, 1, 0.0, 32),
        ("2 rows of 1,100 scores, 2 blocks of 32", 2, 1100, 0.0, 32),
    )
    made = [
        launch(label, middle + rng.uniform(-3, 3, (m, n)), block)
        for label, m, n, middle, block in shapes
    ]
    rising = np.linspace(-200, 200, 96) + rng.uniform(-1, 1, (16, 96))
    made.insert(0, launch("16 rows of 96 scores, 4 blocks of 128", rng.uniform(-3, 3, (16, 96)),
                          128, measured=True))  # fmt: skip
    made.append(launch("16 rows of 96 scores that rise, 4 blocks of 128", rising, 128))
    lowest = -1e35 * rng.integers(1, 4, (3, 40))
    return [*made, launch("3 rows of 40 scores below −1e35, one block of 96", lowest, 96)]


def allowed(launch: Launch) -> int:
    """The solution's, and a sector of each row for those who start with its first score."""
    m, n = launch.args[0].shape
    return softmax_bytes(m, n, "online") + SECTOR * int(m)


answers.edit(
    {
        "    row = cuda.grid(1) // WARP\n": "    near = cuda.shared.array((4, 256), np.float32)\n"
        "    row, w = cuda.grid(1) // WARP, cuda.threadIdx.x // WARP\n",
        "score = scores[row, j]\n": "score = near[w, j] = scores[row, j]\n",
        "scores[row, j] - largest": "near[w, j] - largest",
    },
    "the row is kept in an array of a fixed size, and rows may be longer: read the scores from "
    "global memory again.",
)
answers.edit(
    {OWN: "total = total + math.exp(score - higher)"},
    "the sum was made for a smaller maximum, and is not scaled when a larger score comes: multiply "
    "it by exp(old maximum − new maximum).",
)
answers.edit(
    {OWN: "total = total * math.exp(higher - largest) + math.exp(score - higher)"},
    "the sum grows where it must shrink: the factor is exp(old maximum − new maximum), at most 1.",
)
answers.edit(
    {MERGED: "total = total * math.exp(largest - higher) + others_total"},
    "the other lane's sum was made for that lane's maximum: scale it too, by exp(its maximum − the "
    "larger of the two).",
)
answers.edit(
    {MERGED: "total = total + others_total * math.exp(other - higher)"},
    "the lane's own sum is not scaled when the other lane's maximum is larger.",
)
answers.edit(
    {MERGED: "total = total + others_total"},
    "the lanes' sums are added as they are, and each was made for another maximum: scale both to "
    "the larger one first.",
)
answers.edit(
    {
        "        others_total = cuda.shfl_xor_sync(FULL_WARP, total, step)\n": "",
        MERGED: "total *= math.exp(largest - higher)\n"
        "        total += cuda.shfl_xor_sync(FULL_WARP, total, step) * math.exp(other - higher)",
    },
    "the other lane has scaled its sum already when you fetch it, and it is scaled once more: "
    "fetch the sum before you scale, or add what you fetch as it is.",
)
answers.edit(
    {LAST: "others_total * math.exp(other - higher)"},
    "when lanes meet, the sum is scaled to the larger maximum, and the maximum itself is left as "
    "it was.",
)
answers.edit(
    {"LOWEST, np": "np.float32(-math.inf), np"},
    "where a row is shorter than a warp, some lanes have seen no score, and −∞ − (−∞) is not a "
    "number: start at a finite number below every score, such as LOWEST.",
)
answers.edit(
    {"LOWEST, np": "np.float32(0), np"},
    "the search for the largest score starts at 0, so far below 0 every exp becomes 0: start at "
    "LOWEST.",
)
answers.edit(
    {"LOWEST, np": "np.float32(-1e30), np"},
    "the search for the largest score starts at a number that a row's scores may lie below: start "
    "at LOWEST.",
)
answers.edit(
    {SHARED: SHARED.replace("xor", "down")},
    "after shfl_down_sync only lane 0 has the maximum and the sum, and the other lanes go on with "
    "less: use shfl_xor_sync for both.",
)
answers.edit({" / total": ""}, "the rows do not add up to 1: divide by the sum.")
answers.edit(
    {STEPS: "(8, 4, 2, 1)"},
    "the first shuffle must reach 16 lanes far: with steps from 8 on, two halves of the warp never "
    "meet.",
)
answers.edit(
    {STEPS: "(16, 8, 4, 2)"},
    "the last shuffle must reach one lane far: with steps down to 2, even and odd lanes never "
    "meet.",
)
answers.edit(
    {STEPS: "range(0)"},
    "each lane has the maximum and the sum of its own columns: those of the 32 lanes must be "
    "joined before the result.",
)
answers.edit(
    {
        OWN: "total = total * math.exp(largest - higher)\n"
        "        if score <= largest:\n            total += math.exp(score - higher)"
    },
    "where a score is larger than all before, the sum is scaled, and that score's own power, "
    "exp(0) = 1, is not added.",
)
answers.edit(
    {"    if row >= scores.shape[0]:\n        return\n": ""},
    "There are more warps than rows: those without a row must leave before they read.",
)
answers.edit({"np.float32(0)": "0.0"}, FLOAT32)
answers.edit(
    {
        OWN: "total = total + math.exp(score)",
        MERGED: "total = total + others_total",
        "scores[row, j] - largest)": "scores[row, j])",
    },
    "exp of a large score is infinite, and of one far below 0 it is 0: take the row's largest "
    "score away before exp.",
)
answers.edit(
    {
        COLUMNS + line: f"min(WARP, scores.shape[1]), WARP):\n        {line}"
        for line in ("score", "out")
    },
    "only the first 32 columns are handled: each lane goes on 32 columns further until the row "
    "ends.",
)


@answers.wrong(ONE_PASS)
def in_three_passes(scores: Any, out: Any) -> None:
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    largest = LOWEST
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


@answers.wrong(NEIGHBOURS)
def one_thread_for_a_row(scores: Any, out: Any) -> None:
    row = cuda.grid(1)
    if row < scores.shape[0]:
        largest, total = LOWEST, np.float32(0)
        for j in range(scores.shape[1]):
            higher = max(largest, scores[row, j])
            total = total * math.exp(largest - higher) + math.exp(scores[row, j] - higher)
            largest = higher
        for j in range(scores.shape[1]):
            out[row, j] = math.exp(scores[row, j] - largest) / total


@answers.right
def with_a_branch(scores: Any, out: Any) -> None:
    lane = cuda.threadIdx.x % 32
    row = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) // 32
    if row < scores.shape[0]:
        top, weight = np.float32(-3.4e38), np.float32(0)
        j = lane
        while j < scores.shape[1]:
            x = scores[row, j]
            if x > top:
                weight = weight * math.exp(top - x) + np.float32(1)
                top = x
            else:
                weight += math.exp(x - top)
            j += 32
        best = top
        for k in range(5):
            best = max(best, cuda.shfl_xor_sync(FULL_WARP, best, 1 << k))
        weight *= math.exp(top - best)
        for k in range(5):
            weight += cuda.shfl_xor_sync(FULL_WARP, weight, 1 << k)
        j = lane
        while j < scores.shape[1]:
            out[row, j] = math.exp(scores[row, j] - best) / weight
            j += 32


# each lane scales its own sum, and adds another that is scaled already
answers.variant({
    "        others_total = cuda.shfl_xor_sync(FULL_WARP, total, step)\n": "",
    MERGED: "total *= math.exp(largest - higher)\n"
    "        total += cuda.shfl_xor_sync(FULL_WARP, total, step)",
})  # fmt: skip

# only lane 0 has the whole row then, and sends it to the others
answers.variant({
    SHARED: SHARED.replace("xor", "down"),
    LAST: LAST + """
    largest = cuda.shfl_sync(FULL_WARP, largest, 0)
    total = cuda.shfl_sync(FULL_WARP, total, 0)""",
})  # fmt: skip

EXERCISE = kernel_exercise(
    ONLINE_SOFTMAX,
    task="Write the softmax of each row, with its maximum and its sum from one pass.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=FLOAT32),
        budgets.sectors_per_request(4, advice=NEIGHBOURS),
        budgets.bytes_moved(
            allowed,
            advice=ONE_PASS,
        ),
    ),
)

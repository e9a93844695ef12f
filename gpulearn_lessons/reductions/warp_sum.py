"""The sum of each warp's values, by shuffles alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.reduction import FULL_WARP, WARP, WARP_SUM, warp_sum

FLOAT32 = "A literal such as 0.0 is float64: start the sum with np.float32(0)."
REGISTERS = "The values can go from register to register: use cuda.shfl_down_sync."
TOGETHER = "The lanes of a warp shuffle together, and need no barrier for it."
ONCE = "Let each lane read one value, its own, once, and get the others' sums by shuffles."

FIVE = (
    "Add what a shuffle returns to a sum that grows: five shuffles, 16, 8, 4, 2 and 1 lanes far, "
    "reach all 32 values."
)

answers = Answers(warp_sum)

# what stands in the solution
READ = """    total = np.float32(0)
    if i < values.size:
        total = values[i]
"""
ROUNDS = """    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL_WARP, total, step)
"""
STORING = "if i % WARP == 0 and i < values.size"


def cases() -> list[Launch]:
    """A last warp in part, warps with nothing to do, one value, several blocks."""
    rng = np.random.default_rng(7)
    shapes = ((200, 2, 128), (512, 4, 128), (33, 3, 32), (64, 1, 128), (1, 1, 32))
    return [
        Launch.of(
            WARP_SUM,
            f"{n} values in {grid} block{'s' * (grid > 1)} of {block}",
            (rng.integers(-200, 200, n) / 4).astype(np.float32),
            np.empty(-(-n // WARP), np.float32),
            grid=grid,
            block=block,
            measured=n == 512,
        )
        for n, grid, block in shapes
    ]


answers.edit(
    {"cuda.grid(1)": "cuda.threadIdx.x"},
    "only block 0 is right: the block index is never used. cuda.grid(1) uses it.",
)
answers.edit(
    {READ: "    if i >= values.size:\n        return\n    total = values[i]\n"},
    "Lanes without a value are gone before the shuffle, whose mask names them: let them bring a 0 "
    "instead.",
)
answers.edit(
    {"FULL_WARP": "0xFFFF"},
    "The mask must name all 32 lanes, 0xFFFFFFFF: a shorter one, such as 0xFFFF, leaves out lanes "
    "that call the shuffle as well.",
)
answers.edit(
    {"(16, 8, 4, 2, 1)": "(8, 4, 2, 1)"},
    "only the first 16 values of each warp are summed: the first shuffle must reach 16 lanes far.",
)
answers.edit(
    {"(16, 8, 4, 2, 1)": "(16, 8, 4, 2)"},
    "every second value is missing: the last shuffle reaches one lane far, step 1.",
)
answers.edit(
    {"shfl_down_sync": "shfl_up_sync"},
    "lane 0 has nothing but multiples of its own value: after shuffles *up* the sum is in lane 31. "
    "Use cuda.shfl_down_sync.",
)
answers.edit(
    {STORING: "if i < values.size"},
    "All 32 lanes write to one place at once, each another sum: only lane 0 has the warp's.",
)
answers.edit(
    {STORING: "if i % WARP == 0"},
    "A warp that has no values at all stores a sum beyond the end of `sums`: guard the store too.",
)
answers.edit(
    {"    if i < values.size": "    if i <= values.size"},
    "The guard lets one thread too many read: the last index is values.size - 1.",
)
answers.edit(
    {ROUNDS: "    value = total\n" + ROUNDS.replace("P, total", "P, value")},
    "each lane takes its neighbour's *first* value in every round: add what the shuffle returns "
    "for the growing sum, not for the value.",
)
answers.edit({ROUNDS: ""}, "that is lane 0's own value: nothing is added to it.")
answers.edit(
    {
        STORING: "if cuda.threadIdx.x == 0 and cuda.blockIdx.x < sums.size",
        "sums[i // WARP]": "sums[cuda.blockIdx.x]",
    },
    "there is one sum for each warp, at i // 32: a block's other warps never store theirs, or "
    "all to one place.",
)
answers.edit(
    {STORING: "if i % WARP == WARP - 1 and i // WARP < sums.size"},
    "after the shuffles with shfl_down_sync lane 0 has the sum of all, and lane 31 has not.",
)
answers.edit({"np.float32(0)": "0.0"}, FLOAT32)


@answers.wrong(ONCE)
def one_lane_reads_all(values: Any, sums: Any) -> None:
    i = cuda.grid(1)
    if i % WARP == 0 and i < values.size:
        total = np.float32(0)
        for k in range(i, min(i + WARP, values.size)):
            total += values[k]
        sums[i // WARP] = total


@answers.wrong(REGISTERS)
def by_shared_memory(values: Any, sums: Any) -> None:
    s = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = values[i] if i < values.size else np.float32(0)
    cuda.syncthreads()
    step = 16
    while step > 0:
        if t % WARP < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t % WARP == 0 and i < values.size:
        sums[i // WARP] = s[t]


@answers.wrong(REGISTERS)
def by_atomics(values: Any, sums: Any) -> None:
    i = cuda.grid(1)
    if i % WARP == 0 and i < values.size:
        sums[i // WARP] = 0
    cuda.syncwarp()
    if i < values.size:
        cuda.atomic.add(sums, i // WARP, values[i])


answers.edit({READ: f"{READ}    cuda.syncthreads()\n"}, TOGETHER)
answers.edit(
    {"total += cuda": "total = cuda"},
    "the value of another lane takes the place of the sum: add what the shuffle returns, with +=.",
)


@answers.wrong(FIVE)
def lane_by_lane(values: Any, sums: Any) -> None:
    i = cuda.grid(1)
    mine = values[i] if i < values.size else np.float32(0)
    total = np.float32(0)
    for lane in range(WARP):
        total += cuda.shfl_sync(FULL_WARP, mine, lane)
    if cuda.laneid == 0 and i < values.size:
        sums[i // WARP] = total


@answers.right
def butterfly(data: Any, totals: Any) -> None:
    me = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    mine = data[me] if me < data.size else np.float32(0)
    distance = 16
    while distance > 0:
        mine += cuda.shfl_xor_sync(0xFFFFFFFF, mine, distance)
        distance //= 2
    if cuda.laneid == 0 and me // 32 < totals.size:
        totals[me // 32] = mine


@answers.right
def upwards_to_the_last_lane(values: Any, sums: Any) -> None:
    i = cuda.grid(1)
    total = np.float32(0)
    if i < values.size:
        total += values[i]
    step = 1
    while step < 32:
        total += cuda.shfl_up_sync(-1, total, step)
        step *= 2
    if i % 32 == 31 and i // 32 < sums.size:
        sums[i // 32] = total


EXERCISE = kernel_exercise(
    WARP_SUM,
    task="Let each warp sum its 32 values by shuffles.",
    cases=cases,
    answers=answers,
    alone=ONCE,
    budgets=(
        *budgets.float64_sums(advice=FLOAT32),
        budgets.shared_passes(0, advice=REGISTERS),
        budgets.atomics(lambda launch: 0, of=1, advice=REGISTERS),
        budgets.barriers(0, advice=TOGETHER),
        budgets.instructions(40, advice=FIVE),  # five rounds of a while loop take 23
        budgets.bytes_moved(
            lambda launch: 32 * (-(-launch.args[0].size // 8) + launch.args[1].size), advice=ONCE
        ),
    ),
)

"""The block sum in CUDA C++: shuffles within each warp, and one barrier."""

from __future__ import annotations

from gpulearn.judge import budgets
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.blocks import BLOCK_SUM
from gpulearn_lessons.cuda_cpp.cpp_sources import BLOCK_SUM_CPP
from gpulearn_lessons.shared_memory.block_sum import cases

BARRIERS = (
    "Within a warp no barrier is needed: __shfl_down_sync hands over a register. One is left, "
    "between the warps that store their sums and the thread that adds them."
)
SINGLE = "Add floats: a double, such as 0.0 without an f, makes a double of what it meets."
TREE = (
    "Through shared memory go the sums of the warps alone, one for each warp, and thread 0 alone "
    "reads them. Within a warp the lanes add from register to register in five rounds, by "
    "__shfl_down_sync with steps 16, 8, 4, 2, 1."
)
PASSES = 12  # over shared memory: each warp stores its sum, one warp reads them

EXERCISE = cpp_exercise(
    BLOCK_SUM_CPP,
    BLOCK_SUM,
    lambda a, out: (a.size,),
    task="Sum each block's stretch in CUDA C++ by shuffles, with one barrier.",
    cases=cases,
    alone=TREE,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.shared_passes(PASSES, advice=TREE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

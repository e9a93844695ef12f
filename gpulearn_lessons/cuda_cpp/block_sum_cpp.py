"""The block sum in CUDA C++: shuffles within each warp, and one barrier."""

from gpulearn.judge import budgets
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.blocks import BLOCK_SUM
from gpulearn_lessons.cuda_cpp.cpp_sources import BLOCK_SUM_CPP
from gpulearn_lessons.shared_memory.block_sum import cases

ATOMICS = (
    "Atomic additions to one element take turns: store the sums of the warps in shared memory, and "
    "let thread 0 add them and store the result once."
)
BARRIERS = (
    "A shuffle passes values from register to register, so a warp needs no barrier. One is left, "
    "between the warps that store their sums and the thread that adds them."
)
SINGLE = "Add floats: a double, such as 0.0 without an f, turns the sum into a double."
TREE = (
    "Let each thread load its own element, and let the lanes of a warp add theirs with "
    "__shfl_down_sync and steps of 16, 8, 4, 2, 1. Only the sums of the warps belong in shared "
    "memory, and only thread 0 reads them."
)
PASSES = 12  # over shared memory: each warp stores its sum, one warp reads them

EXERCISE = cpp_exercise(
    BLOCK_SUM_CPP,
    BLOCK_SUM,
    lambda a, out: (a.size,),
    task="Sum each block's stretch in CUDA C++ with shuffles and one barrier.",
    cases=cases,
    alone=TREE,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.atomics(lambda launch: 0, of=1, advice=ATOMICS),
        budgets.requests(lambda launch: 4 * launch.args[1].size, of=0, advice=TREE),
        budgets.shared_passes(PASSES, advice=TREE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

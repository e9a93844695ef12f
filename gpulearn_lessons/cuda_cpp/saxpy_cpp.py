"""alpha·x + y in CUDA C++, by a grid-stride loop."""

from gpulearn.judge import budgets
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE
from gpulearn_lessons.cuda_cpp.cpp_sources import SAXPY_CPP
from gpulearn_lessons.threads.saxpy_grid_stride import cases

NO_DOUBLE = (
    "Compute in float: a float together with a double becomes a double, and a literal without f, "
    "such as 0.0, is a double in C++. Write 0.0f."
)
ONCE_EACH = (
    "Several threads compute the same elements: start at the thread's index in the grid, and step "
    "by the number of threads in the grid, gridDim.x * blockDim.x."
)
STRETCHES = (
    "Neighboring lanes access elements that are far apart: start at the thread's index in the "
    "grid, blockIdx.x * blockDim.x + threadIdx.x, and step by the number of threads in the grid."
)

STORED_ONCE = (
    "Elements of out are stored more than once, or read back: compute alpha * x[i] + y[i] first, "
    "and store it in one statement."
)

EXERCISE = cpp_exercise(
    SAXPY_CPP,
    SAXPY_GRID_STRIDE,
    lambda alpha, x, y, out: (out.size,),
    task="Write out = alpha·x + y in CUDA C++, for a launch of any size.",
    cases=cases,
    budgets=(
        budgets.float64(advice=NO_DOUBLE),
        budgets.sectors_per_request(4, advice=STRETCHES),
        budgets.operations(lambda launch: 2 * launch.args[1].size, advice=ONCE_EACH),
        budgets.accesses(lambda launch: launch.args[3].size, of=3, advice=STORED_ONCE),
    ),
)

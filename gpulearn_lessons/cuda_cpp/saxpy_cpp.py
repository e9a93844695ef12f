"""alpha·x + y in CUDA C++, by a grid-stride loop."""

from __future__ import annotations

from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE
from gpulearn_lessons.cuda_cpp.cpp_sources import SAXPY_CPP
from gpulearn_lessons.threads.saxpy_grid_stride import cases

NO_DOUBLE = (
    "Compute in float: what meets a double becomes one, and a literal without f, such as 0.0, is "
    "a double in C++. Write 0.0f."
)
ONCE_EACH = (
    "Elements are done by several threads: begin at the thread's number in the grid, and step by "
    "the number of threads in the grid, gridDim.x * blockDim.x."
)
STRETCHES = (
    "Each thread has a stretch of its own, so that neighbouring lanes are far apart: begin at the "
    "thread's number in the grid, and step by the number of threads in the grid."
)

STORED_ONCE = (
    "An element of out is stored more than once, or read back: compute alpha * x[i] + y[i] first, "
    "and store it in one statement."
)

# Text of the solution.
LOOP = "for (int i = first; i < n; i += step) {"
BODY = "out[i] = alpha * x[i] + y[i];"
FIRST = "blockIdx.x * blockDim.x + threadIdx.x"

answers = Answers(SAXPY_CPP)
answers.edit(
    {LOOP: "int i = first;\n    if (i < n) {"},
    "no thread goes on to a second element: let it go on in steps of the whole grid, "
    "gridDim.x * blockDim.x.",
)
answers.edit(
    {LOOP: "int i = first;\n    {"},
    "each thread does one element, whether there is one or not: let it go on in steps of the whole "
    "grid, gridDim.x * blockDim.x, while i < n.",
)
answers.edit(
    {FIRST: "threadIdx.x"},
    "the loop begins at threadIdx.x, the same in every block: begin at blockIdx.x * blockDim.x + "
    "threadIdx.x.",
)
answers.edit(
    {FIRST: "blockIdx.x"},
    "the loop begins at blockIdx.x, the same for all threads of a block: add threadIdx.x, and "
    "multiply the block by blockDim.x.",
)
answers.edit(
    {FIRST: "blockIdx.x + threadIdx.x"},
    "each block begins only one element after the one before it: multiply blockIdx.x by "
    "blockDim.x, the threads of a block.",
)
answers.edit(
    {FIRST: "blockIdx.x * gridDim.x + threadIdx.x"},
    "the block is multiplied by the number of blocks: multiply it by the threads of a block, "
    "blockDim.x.",
)
answers.edit(
    {"step = gridDim.x * blockDim.x": "step = gridDim.x * blockDim.x + 1"},
    "the step is one too large, and elements are left out: there are gridDim.x * blockDim.x "
    "threads.",
)
answers.edit(
    {"i < n": "i <= n"},
    "the loop goes one too far: the last index is n - 1, so i < n.",
)
answers.edit(
    {"i < n": "i < n - 1"},
    "the last element is never written: i < n lets n - 1 through, which is the last index.",
)
answers.edit(
    {LOOP: "for (int i = first; ; i += step) {"},
    "the loop has no end of its own: C++ knows no sizes, so compare i with n before each round.",
)
answers.edit(
    {BODY: ""},
    "nothing arrives in out: does out[i] = … stand in the loop, with = and not with == or +=?",
)
answers.edit(
    {"x[i] + y[i]": "x[0] + y[0]"},
    "every element of out is alpha · x[0] + y[0], and *x is x[0] too: read x[i] and y[i].",
)
answers.edit({"alpha *": "2.5f *"}, "alpha is not always 2.5: multiply by the argument.")
answers.edit({"alpha *": "alpha +"}, "alpha is added, not multiplied: alpha · x + y.")
answers.edit({"alpha * ": ""}, "alpha is missing: out is x + y.")
answers.edit({" + y[i]": ""}, "y is missing: out is alpha · x + y.")
answers.edit({"x[i] + y[i]": "(x[i] + y[i])"}, "alpha multiplies y as well: it belongs to x alone.")
answers.edit(
    {"alpha * x[i] + y[i]": "x[i] + alpha * y[i]"},
    "x and y have changed places: alpha belongs to x.",
)
answers.edit(
    {"alpha * x[i] + y[i]": "(int)(alpha * x[i] + y[i])"},
    "the fractions are lost: an int holds whole numbers, and (int) cuts off.",
)
answers.edit({"alpha * x[i]": "0.0 + alpha * x[i]"}, NO_DOUBLE)
answers.edit({"alpha * x[i]": "1.0 * alpha * x[i]"}, NO_DOUBLE)
answers.edit({"gridDim.x * blockDim.x": "blockDim.x"}, ONCE_EACH)
answers.edit({LOOP: "for (int i = 0; i < n; ++i) {"}, ONCE_EACH)
answers.edit(
    {
        LOOP: """\
int share = (n + step - 1) / step, end = min(n, (first + 1) * share);
    for (int i = first * share; i < end; ++i) {""",
    },
    STRETCHES,
)
answers.edit({BODY: "out[i] = alpha * x[i];\n        out[i] += y[i];"}, STORED_ONCE)

answers.variant(
    {
        LOOP: "int i = first;\n    while (i < n) {",
        BODY: "out[i] = fmaf(alpha, x[i], y[i]);\n        i += step;",
    }
)
answers.variant(
    {
        "const float* x, const float* y, float* out": (
            "const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out"
        ),
        LOOP: "for (long long i = first; i < n; i += step) {",
        BODY: "*(out + i) = *(y + i) + *(x + i) * alpha;",
    }
)
answers.variant({LOOP: "for (int i = n - 1 - first; i >= 0; i -= step) {"})

EXERCISE = cpp_exercise(
    SAXPY_GRID_STRIDE,
    lambda alpha, x, y, out: (out.size,),
    task="Write out = alpha·x + y in CUDA C++, for a launch of any size.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.float64(advice=NO_DOUBLE),
        budgets.sectors_per_request(4, advice=STRETCHES),
        budgets.operations(lambda launch: 2 * launch.args[1].size, advice=ONCE_EACH),
        budgets.accesses(lambda launch: launch.args[3].size, of=3, advice=STORED_ONCE),
    ),
)

"""The block sum in CUDA C++: shuffles within each warp, and one barrier."""

from __future__ import annotations

from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
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

# Text of the solution.
ROUNDS = """\
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, step);
    }
"""
BARRIER = "    __syncthreads();\n"
LANE_0 = "if (lane == 0) {\n        sums[warp] = sum;\n    }"
WARPS = "for (int w = 1; w < blockDim.x / 32; ++w) {"
LOAD = "i < n ? a[i] : 0.0f"
INDEX = "int i = blockIdx.x * blockDim.x + t;"

answers = Answers(BLOCK_SUM_CPP)
answers.edit(
    {BARRIER: ""},
    "what other warps have stored in shared memory is read with no barrier between: "
    "__syncthreads() belongs before the warps' sums are added.",
)
answers.edit(
    {
        LANE_0: "if (lane == 0) {\n        sums[warp] = sum;\n        __syncthreads();\n    }",
        BARRIER: "",
    },
    "the barrier stands where only some threads of the block come by: all have to reach it, "
    "whether they store a sum or not.",
)
answers.edit(
    {BARRIER: "    __syncwarp();\n"},
    "__syncwarp() joins the lanes of one warp, and the sums come from all warps: that "
    "takes the barrier of the block, __syncthreads().",
)
answers.edit(
    {ROUNDS: ROUNDS.replace("0xffffffff", "__activemask()").replace("for", "if (i < n) for")},
    "lanes without an element take no part in the shuffles, and what is read from them means "
    "nothing: let them come along and bring 0.0f, with the mask 0xffffffff.",
)
answers.edit(
    {LANE_0: "sums[warp] = sum;"},
    "all lanes of a warp store into one cell, each another number: only lane 0 has the sum.",
)
answers.edit(
    {"sums[warp] = sum;": "sums[lane] = sum;"},
    "lane is 0 in each warp that stores, so all warps store in sums[0]: the cell of a warp is "
    "sums[warp].",
)
answers.edit(
    {LOAD: "i <= n ? a[i] : 0.0f"},
    "the guard lets i = n through, one past the end: write i < n.",
)
answers.edit(
    {LOAD: "a[i]"},
    "there is no guard: in the last block some threads have no element and bring 0.0f.",
)
answers.edit(
    {INDEX: f"{INDEX}\n    if (i >= n) return;"},
    "threads without an element do not come to the shuffle, and its mask names them: let them come "
    "along and bring 0.0f.",
)
answers.edit(
    {"step = 16": "step = 8"},
    "the first round is missing: a warp has 32 lanes, so the first step is 16.",
)
answers.edit(
    {"step > 0": "step > 1"},
    "the last round is missing: go on while step > 0, so that the round with step 1 takes place.",
)
answers.edit(
    {"step = 16": "step = 32"},
    "of a step of 32 a shuffle reads the lower five bits, 0, and a lane gets its own value back: "
    "begin with 16.",
)
answers.edit(
    {"step = 16": "step = 64"},
    "of steps of 64 and 32 a shuffle reads the lower five bits, 0, and a lane gets its own value "
    "back: begin with 16.",
)
answers.edit(
    {ROUNDS: ""},
    "the lanes of a warp are never added: only lane 0's value is stored.",
)
answers.edit(
    {"sum += __shfl": "sum = __shfl"},
    "each round throws away what the lane had: add what comes, sum += …",
)
answers.edit(
    {"__shfl_down_sync(0xffffffff, sum, step)": "__shfl_up_sync(0xffffffff, sum, step)"},
    "__shfl_up_sync gathers the sum in the last lane: with lane 0 to hold it, shuffle down.",
)
answers.edit(
    {"__shfl_down_sync(0xffffffff, sum, step)": "__shfl_sync(0xffffffff, sum, step)"},
    "__shfl_sync gives all lanes the value of one lane: each needs that of the lane `step` further "
    "on, which __shfl_down_sync gives.",
)
answers.edit(
    {WARPS: "for (int w = 0; w < blockDim.x / 32; ++w) {"},
    "the first warp is added twice: thread 0 already holds its sum, so begin with warp 1.",
)
answers.edit(
    {WARPS: "for (int w = 1; w < 32; ++w) {"},
    "cells of warps that the block does not have are added, and nothing was ever written to them: "
    "there are blockDim.x / 32 warps.",
)
answers.edit(
    {WARPS: "for (int w = 1; w < blockDim.x / 32 - 1; ++w) {"},
    "the last warp is left out: add the sums of all blockDim.x / 32 warps.",
)
answers.edit(
    {WARPS: "for (int w = 1; w < 1; ++w) {"},
    "that is the sum of the first warp: add those of the others.",
)
answers.edit(
    {"out[blockIdx.x]": "out[0]"},
    "all blocks write to out[0]: the sum of block b belongs in out[b].",
)
answers.edit(
    {INDEX: "int i = t;"},
    "every block sums the first stretch: the block index is missing in the load.",
)
answers.edit(
    {"= sum;\n    }\n}": "= sum / blockDim.x;\n    }\n}"},
    "that is the mean: out[b] is the sum of the stretch, so do not divide.",
)
answers.edit(
    {"float sum = i": "int sum = i"},
    "the values lose their fractions: sum has to be a float.",
)
answers.edit(
    {"out[blockIdx.x] = sum;": ""},
    "out holds no number: nothing is stored there.",
)
answers.edit({LOAD: "i < n ? a[i] : 0.0", "float sum = ": "double sum = "}, SINGLE)
answers.edit({f"    {LANE_0}": f"{BARRIER}    {LANE_0}"}, BARRIERS)
answers.edit(
    {
        "sums[32]": "sums[128]",
        ROUNDS: "",
        LANE_0: "sums[t] = sum;",
        WARPS: "for (int w = 1; w < 128; ++w) {",
    },
    TREE,
)
answers.edit(
    {
        "if (t == 0) {": "{",
        WARPS: "sum = sums[0];\n        for (int w = 1; w < blockDim.x / 32; ++w) {",
    },
    TREE,
)

answers.variant(
    {
        ROUNDS: """\
    for (int mask = 1; mask < 32; mask *= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, mask);
    }
""",
    }
)
answers.variant(
    {  # the first warp adds the warps' sums by shuffles too
        "if (t == 0) {": """\
if (warp == 0) {
        sum = lane < blockDim.x / 32 ? sums[lane] : 0.0f;
        for (int step = 16; step > 0; step /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, step);
        }
    }
    if (t == 0) {""",
        WARPS: "if (false) {\n            int w = 0;",
    }
)

EXERCISE = cpp_exercise(
    BLOCK_SUM,
    lambda a, out: (a.size,),
    task="Sum each block's stretch in CUDA C++ by shuffles, with one barrier.",
    cases=cases,
    answers=answers,
    alone=TREE,
    budgets=(
        budgets.float64(advice=SINGLE),
        budgets.shared_passes(PASSES, advice=TREE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

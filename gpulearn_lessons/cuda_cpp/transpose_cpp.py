"""The tiled transpose in CUDA C++, by the budgets of its twin in Numba."""

from gpulearn.judge import budgets
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.transpose import TILE, TRANSPOSE_TILED
from gpulearn_lessons.cuda_cpp.cpp_sources import TRANSPOSE_CPP
from gpulearn_lessons.shared_memory.transpose_tiled import ALONE, cases, requests

COALESCED = (
    "Neighboring lanes differ in threadIdx.x: add it last in the flat indices of the load and of "
    "the store, with no factor, and transpose in the tile between them."
)
PADDING = (
    "Words that are 32 words apart share a bank. Give each row of the tile one extra float: "
    "tile[TILE][TILE + 1]."
)
SINGLE = "A double takes two words of shared memory: make the tile float, as the image is."
BARRIERS = "One barrier is enough: between filling the tile and reading it."

EXERCISE = cpp_exercise(
    TRANSPOSE_CPP,
    TRANSPOSE_TILED,
    lambda image, out: image.shape,
    task="Transpose an image in CUDA C++: at most 4 sectors on both sides, no bank conflict.",
    cases=cases,
    budgets=(
        budgets.sectors_per_request(4, advice=COALESCED),
        budgets.requests(requests, advice=ALONE),
        budgets.bank_conflicts(0, advice=PADDING),
        budgets.shared_passes(2 * TILE, advice=SINGLE),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

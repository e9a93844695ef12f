"""The tiled transpose in CUDA C++, by the budgets of its twin in Numba."""

from __future__ import annotations

from gpulearn.judge import budgets
from gpulearn.judge.answers import Answers
from gpulearn.judge.cpp_exercise import cpp_exercise
from gpulearn.kernels.transpose_tiled import TRANSPOSE_TILED
from gpulearn_lessons.cuda_cpp.cpp_sources import TRANSPOSE_CPP
from gpulearn_lessons.shared_memory.transpose_tiled import ALONE, cases, requests

COALESCED = (
    "Neighbouring lanes differ in threadIdx.x: it has to be the last part of the flat index in the "
    "load and in the store, and the picture is turned in the tile between them."
)
PADDING = (
    "Words that lie 32 words apart share a bank. Give the tile's rows one float more than they "
    "need: tile[TILE][TILE + 1]."
)
BARRIERS = "One barrier is enough: between filling the tile and reading it."

# Text of the solution.
BARRIER = "    __syncthreads();\n"
LOAD = "if (y0 + ty < height && x0 + tx < width) {"
STORE = "if (x0 + ty < width && y0 + tx < height) {"
STRAIGHT = "if (y0 + ty < height && x0 + tx < width) { // of out"
FILL = "tile[ty][tx] = image[(y0 + ty) * width + x0 + tx];"
TURN = "out[(x0 + ty) * height + y0 + tx] = tile[tx][ty];"
TILE_LINE = "    __shared__ float tile[TILE][TILE + 1];\n"

answers = Answers(TRANSPOSE_CPP)
answers.edit(
    {BARRIER: ""},
    "between the line that fills the tile and the line that reads it there must be a barrier: "
    "what a thread reads, another thread has loaded.",
)
answers.edit(
    {f"{BARRIER}    {STORE}": f"    {STORE}\n    {BARRIER}"},
    "threads that lie outside the image never reach the barrier, and every thread has to: "
    "guard the load and the store, each for itself, and leave the barrier unguarded.",
)
answers.edit(
    {STORE: STRAIGHT, TURN: "out[(y0 + ty) * height + x0 + tx] = tile[tx][ty];"},
    "each tile is turned, but stands in the wrong place: in out, rows begin at the block's x "
    "and columns at its y.",
)
answers.edit(
    {
        STORE: "if (y0 + ty < width && x0 + tx < height) {",
        TURN: "out[(y0 + ty) * height + x0 + tx] = tile[tx][ty];",
    },
    "each tile is turned, but the tiles stand where they stood in the image: in out, rows begin at "
    "the block's x and columns at its y, in the guard as well.",
)
answers.edit(
    {STORE: STRAIGHT, TURN: "out[(y0 + ty) * width + x0 + tx] = tile[ty][tx];"},
    "out is the image as it was: rows and columns have to change places, in the tile and in the "
    "index of out.",
)
answers.edit(
    {TURN: TURN.replace("tile[tx][ty]", "tile[ty][tx]")},
    "the tiles stand in the right places, but inside them nothing is turned: tx and ty must "
    "change places once, between the line that fills the tile and the line that reads it.",
)
answers.edit(
    {FILL: FILL.replace("width", "height")},
    "a row of the image has width elements, so its row number is multiplied by width.",
)
answers.edit(
    {TURN: TURN.replace("height", "width")},
    "a row of out has height elements, not width: multiply its row number by height.",
)
answers.edit(
    {TURN: "out[x0 + ty + y0 + tx] = tile[tx][ty];"},
    "the row is added where it has to be multiplied: the flat index is row * columns + column.",
)
answers.edit(
    {STORE: LOAD},
    "the store has no guard for its own row and column: out has as many rows as the image has "
    "columns, so compare x0 + ty with width, and y0 + tx with height.",
)
answers.edit(
    {LOAD: LOAD.replace("<", "<="), STORE: STORE.replace("<", "<=")},
    "a guard with <= lets one row and one column too many through: the last index is one less "
    "than the size.",
)
answers.edit(
    {LOAD: "{", STORE: "{"},
    "right only where tiles fill the image: the load has no guard, so that threads outside read "
    "past its end.",
)
answers.edit(
    {"x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE": "x0 = 0, y0 = 0"},
    "every block turns the first tile: the block index is never used.",
)
answers.edit(
    {"int x0 =": "int y0 =", "y0 = blockIdx.y": "x0 = blockIdx.y"},
    "the block's x and y are mixed up: x counts tiles along a row, so x0 belongs to the "
    "columns of the image.",
)
answers.edit(
    {"__shared__ float": "float"},
    "the tile is no shared memory: without __shared__ each thread has one of its own, in which the "
    "others write nothing.",
)
answers.edit(
    {"__shared__ float": "__shared__ int"},
    "the values lose their fractions: the tile has to hold floats.",
)
answers.edit(
    {TURN: "out[(x0 + ty) * height + y0 + tx] = 0.0f;"},
    "every element of out is zero: the tile is filled, but never written to out.",
)
answers.edit(
    {BARRIER: "    __syncwarp();\n"},
    "__syncwarp() joins the lanes of one warp, and the tile is filled by all warps: that "
    "takes the barrier of the block, __syncthreads().",
)
answers.edit(
    {FILL: "tile[ty][tx] = image[y0 + ty, x0 + tx];"},
    "in image[row, column] C++ drops what stands before the comma: a pointer has one index, "
    "row * width + column.",
)
answers.edit({TURN: ""}, "nothing is written: out is left as it was.")
answers.edit(
    {
        TILE_LINE: "", BARRIER: "", STORE: "", "\n    }\n}": "\n    }",
        FILL: "out[(x0 + tx) * height + y0 + ty] = image[(y0 + ty) * width + x0 + tx];",
        TURN: "",
    },
    COALESCED,
)  # fmt: skip
answers.edit(
    {"tx = threadIdx.x, ty = threadIdx.y": "ty = threadIdx.x, tx = threadIdx.y"}, COALESCED
)
answers.edit(
    {
        STORE: "if (tx == 0 && x0 + ty < width) {",
        TURN: """\
for (int j = 0; j < min(TILE, height - y0); ++j)
            out[(x0 + ty) * height + y0 + j] = tile[j][ty];""",
    },
    ALONE,
)
answers.edit({"[TILE + 1]": "[TILE]"}, PADDING)
answers.edit({LOAD: f"__syncthreads();\n    {LOAD}"}, BARRIERS)

answers.variant(
    {
        "[TILE + 1]": "[TILE + 3]",
        "tile[ty][tx]": "tile[tx][ty]",
        "= tile[tx][ty]": "= tile[ty][tx]",
    }
)
answers.variant(
    {  # no padding: each row is rotated by its number, which spreads a column over the banks
        "tile[TILE][TILE + 1]": "tile[TILE * TILE]",
        "tile[ty][tx]": "tile[ty * TILE + (tx + ty) % TILE]",
        "tile[tx][ty]": "tile[tx * TILE + (tx + ty) % TILE]",
    }
)

EXERCISE = cpp_exercise(
    TRANSPOSE_TILED,
    lambda image, out: image.shape,
    task="Transpose an image in CUDA C++: at most 4 sectors on both sides, no bank conflict.",
    cases=cases,
    answers=answers,
    budgets=(
        budgets.sectors_per_request(4, advice=COALESCED),
        budgets.requests(requests, advice=ALONE),
        budgets.bank_conflicts(0, advice=PADDING),
        budgets.barriers(1, advice=BARRIERS),
    ),
)

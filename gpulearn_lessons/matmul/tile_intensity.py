"""Operations per byte of a product that goes tile by tile, foreseen from the tile's size."""

from __future__ import annotations

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.matmul.matmul_tuning import tile_intensity

answers = Answers(tile_intensity)

ELEMENTS = "rows * n + n * columns + rows * columns"


def cases() -> list[Case]:
    """Square tiles and others, matrices of one tile and of many."""
    sizes = (
        *((32, 32, 256), (64, 64, 256), (128, 64, 256), (64, 128, 1024)),
        *((32, 32, 32), (128, 128, 128), (16, 64, 4096)),
    )
    return [Case(f"rows, columns, n = {r}, {c}, {n}", (r, c, n)) for r, c, n in sizes]


answers.edit(
    {"2 * rows": "rows"},
    "that is half of it: a product is a multiplication and an addition, two operations, and a "
    "float32 has 4 bytes.",
)
answers.edit(
    {"(4 * elements)": "elements"}, "that is operations per element: a float32 has 4 bytes."
)
answers.edit(
    {ELEMENTS: "rows * n + n * columns"},
    "that leaves C out, which hardly counts for large n and does for small n: rows × columns "
    "elements are stored.",
)
answers.edit(
    {ELEMENTS: "rows * n + n * columns + 2 * rows * columns"},
    "C is stored once and never loaded: the sums grow in registers.",
)
answers.edit(
    {ELEMENTS: "rows * n + rows * columns"}, "the elements of B are missing: n × columns of them."
)
answers.edit(
    {ELEMENTS: "n * columns + rows * columns"}, "the elements of A are missing: rows × n of them."
)
answers.edit(
    {ELEMENTS: "3 * n * n", "2 * rows * columns * n": "2 * n * n * n"},
    "too few bytes are counted: each block loads rows × n elements of A and n × columns of B, all "
    "along k, though other blocks load the same ones.",
)
answers.edit(
    {"operations / (4 * elements)": "4 * elements / operations"},
    "that is bytes per operation, upside down: divide the operations by the bytes.",
)
answers.edit(
    {ELEMENTS: "2 * rows * columns * n + rows * columns"},
    "that is with a load for every product, without a tile in shared memory: with one, each "
    "element is loaded once for the whole block.",
)


@answers.wrong("A and B alone, and as if tiles were square: rows and columns may differ.")
def of_square_tiles(rows: int, columns: int, n: int) -> float:
    return rows / 4


@answers.right
def of_all_blocks(rows: int, columns: int, n: int) -> float:
    loaded = n**3 / columns + n**3 / rows
    return 2 * n**3 / (4 * (loaded + n**2))


@answers.right
def from_reciprocals(rows: int, columns: int, n: int) -> float:
    return 0.5 / (1 / rows + 1 / columns + 1 / n)


EXERCISE = Exercise(
    task="Foresee the operations per byte of a product whose blocks compute rows × columns of C.",
    reference=tile_intensity,
    cases=cases,
    answers=answers,
)

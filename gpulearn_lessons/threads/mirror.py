"""A kernel with two mistakes, to be fixed with the help of its report."""

import numpy as np

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn_lessons.threads.images import MIRROR

ONE_EACH = "Each thread moves one pixel, its own, once. Threads outside the picture move none."


def allowed(launch: Launch) -> int:
    """A load and a store by each warp, and some room for another way to do it.

    Half of the threads may swap two pixels each; in a single column, both are the same pixel.
    """
    each = 4 if launch.args[0].shape[1] == 1 else 3
    return int(each * np.prod(launch.grid) * -(-np.prod(launch.block) // 32))


def cases() -> list[Launch]:
    """Wide, tall and square; ends inside a block in both axes, one or none; a single column.

    The largest launch has six blocks across and down, so that one row of them stands out beside
    answers in which half of the blocks do all.
    """
    rng = np.random.default_rng(7)

    def launch(h: int, w: int, block: tuple[int, int]) -> Launch:
        picture = rng.integers(1, 256, size=(h, w), dtype=np.uint8)
        label = f"a picture of {h} rows and {w} columns in blocks of {block}"
        return Launch.of(MIRROR, label, picture, np.empty_like(picture), block=block)

    shapes = (
        *((32, 32, (16, 16)), (23, 37, (16, 8)), (37, 23, (16, 8)), (1, 50, (32, 2))),
        *((50, 1, (2, 32)), (19, 27, (9, 8)), (47, 90, (16, 8))),
    )
    return [launch(*shape) for shape in shapes]


EXERCISE = kernel_exercise(
    MIRROR,
    task="Fix the kernel so that it mirrors a picture of any shape.",
    cases=cases,
    budgets=(
        budgets.operations(lambda launch: 0, advice=ONE_EACH),
        budgets.requests(allowed, advice=ONE_EACH),
    ),
    alone=ONE_EACH,
    # of another right kernel, which is less even, or makes more accesses
    busiest={"thread": (4, 2.179), "warp": (4, 2.0), "block": (512, 2.179)},
)

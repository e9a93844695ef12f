"""The naive matrix product: one thread for each element, x as the row."""

from gpulearn.judge import budgets
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.kernels.matmul import matmul_flops
from gpulearn_lessons.matmul.matmul_ladder import MATMUL_NAIVE
from gpulearn_lessons.matmul.products import EVEN, NO_FLOAT64, launch

ONCE = "Let each thread compute one element of C, its own, and compute no element twice."


def cases() -> list[Launch]:
    """Square, wide, high, with threads left over, and with a single row or column."""
    sizes = (
        *((32, 32, 32, (16, 8)), (33, 5, 20, (8, 16)), (17, 40, 61, (16, 8))),
        *((1, 9, 30, (4, 32)), (30, 3, 1, (12, 5))),
    )
    return [launch(MATMUL_NAIVE, *s[:3], block=s[3]) for s in sizes]


def at_most(launch: Launch) -> int:
    """Two operations for each product, and some room: not an element computed twice."""
    a, b = launch.args[:2]
    (m, n), p = a.shape, b.shape[1]
    return 5 * matmul_flops(m, n, p) // 4


EXERCISE = kernel_exercise(
    MATMUL_NAIVE,
    task="Let x count the rows of C and y its columns; each thread adds up one element.",
    cases=cases,
    budgets=(*NO_FLOAT64, EVEN, budgets.operations(at_most, advice=ONCE)),
    # of another right kernel, which is less even, or makes more accesses
    busiest={"thread": (161, 1.975), "warp": (161, 1.032), "block": (20608, 1.975)},
)

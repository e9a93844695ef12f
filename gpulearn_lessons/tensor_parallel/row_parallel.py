"""A row-parallel layer: a sum over the ranks, and a bias that is added once."""

from gpulearn_lessons.tensor_parallel.layers import row_parallel
from gpulearn_lessons.tensor_parallel.linear import ByRows, cases
from gpulearn_lessons.tensor_parallel.trial import layer_exercise

EXERCISE = layer_exercise(
    task="Multiply this rank's columns of x, add up over the ranks, and add the bias once.",
    reference=row_parallel,
    cases=lambda: cases(ByRows),
    real=ByRows(2, (2, 3), 4, 5),
)

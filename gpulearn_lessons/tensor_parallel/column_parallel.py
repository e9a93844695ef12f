"""A column-parallel layer: its result, and the gradient of an input that all ranks share."""

from gpulearn_lessons.tensor_parallel.layers import column_parallel
from gpulearn_lessons.tensor_parallel.linear import ByColumns, cases
from gpulearn_lessons.tensor_parallel.trial import layer_exercise

EXERCISE = layer_exercise(
    task="Compute this rank's columns of x·Wᵀ + b, so that x gets its whole gradient.",
    reference=column_parallel,
    cases=lambda: cases(ByColumns),
    real=ByColumns(2, (2, 3), 5, 4),
)

"""The exercises of notebook 03: which thread does which element."""

from __future__ import annotations

from gpulearn.exercise.threads import (
    blocks_for,
    global_index,
    matrix_add_2d,
    rgb_to_gray,
    saxpy_grid_stride,
    vector_add,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    global_index.EXERCISE,
    blocks_for.EXERCISE,
    vector_add.EXERCISE,
    matrix_add_2d.EXERCISE,
    rgb_to_gray.EXERCISE,
    saxpy_grid_stride.EXERCISE,
)

"""The exercises of notebook 05: blocks whose threads exchange values."""

from __future__ import annotations

from gpulearn.exercise.shared_memory import (
    block_sum,
    conv2d_tiled,
    reverse_block,
    stencil_1d,
    transpose_tiled,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    reverse_block.EXERCISE,
    stencil_1d.EXERCISE,
    transpose_tiled.EXERCISE,
    block_sum.EXERCISE,
    conv2d_tiled.EXERCISE,
)

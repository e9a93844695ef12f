"""The exercises of notebook 11: the gradients of a network's layers, and convolution."""

from __future__ import annotations

from gpulearn.exercise.backprop import (
    backward_matmul,
    backward_relu,
    conv2d,
    softmax_cross_entropy,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    backward_matmul.EXERCISE,
    backward_relu.EXERCISE,
    softmax_cross_entropy.EXERCISE,
    conv2d.EXERCISE,
)

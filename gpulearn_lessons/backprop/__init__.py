"""The exercises of notebook 12: the backward pass through a graph and through layers."""

from gpulearn.lazy import attach

NOTEBOOK = "12_backprop"
EXERCISES = (
    "backward",
    "topological_order",
    "backward_matmul",
    "backward_relu",
    "softmax_cross_entropy",
    "backward_residual",
    "backward_conv2d",
)

__getattr__, __dir__ = attach(__name__, __file__)

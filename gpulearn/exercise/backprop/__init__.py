"""The exercises of notebook 11: the gradients of a network's layers, and convolution."""

EXERCISES = (
    "backward_matmul",
    "backward_relu",
    "softmax_cross_entropy",
    "conv2d",
)

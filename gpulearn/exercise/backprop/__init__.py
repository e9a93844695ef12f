"""The exercises of notebook 12: the gradients of a network's layers, and convolution."""

NOTEBOOK = "12_backprop"
EXERCISES = (
    "backward_matmul",
    "backward_relu",
    "softmax_cross_entropy",
    "conv2d",
)

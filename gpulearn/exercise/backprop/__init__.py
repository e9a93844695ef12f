"""The exercises of notebook 11: the gradients of a network's layers, and convolution."""

NOTEBOOK = "11_backprop"
EXERCISES = (
    "backward_matmul",
    "backward_relu",
    "softmax_cross_entropy",
    "conv2d",
)

"""The exercises of notebook 12: the walk through a graph, and what layers pass back."""

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

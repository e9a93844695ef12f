"""The exercises of notebook 05: blocks whose threads exchange values."""

EXERCISES = (
    "reverse_block",
    "stencil_1d",
    "transpose_tiled",
    "block_sum",
    "conv2d_tiled",
)

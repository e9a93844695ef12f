"""The exercises of notebook 05: blocks whose threads exchange values."""

NOTEBOOK = "05_shared_memory_and_barriers"
EXERCISES = (
    "reverse_block",
    "stencil_1d",
    "transpose_tiled",
    "block_sum",
    "conv2d_tiled",
)

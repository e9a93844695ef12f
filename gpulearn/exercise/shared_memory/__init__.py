"""The exercises of notebook 05: blocks whose threads exchange values."""

NOTEBOOK = "05_shared_memory_and_barriers"
EXERCISES = (
    "reverse_block",
    "smooth_block",
    "block_sum",
    "column_passes",
    "transpose_tiled",
    "stencil_1d",
    "conv2d_tiled",
)

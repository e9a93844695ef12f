"""The exercises of notebook 05: blocks whose threads exchange values."""

from gpulearn.lazy import attach

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

__getattr__, __dir__ = attach(__name__, __file__)

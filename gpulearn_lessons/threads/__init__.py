"""The exercises of notebook 03: which thread handles which element."""

from gpulearn.lazy import attach

NOTEBOOK = "03_threads_blocks_grids"
EXERCISES = (
    "global_index",
    "vector_add",
    "blocks_for",
    "guard_cost",
    "matrix_add_2d",
    "rgb_to_gray",
    "mirror",
    "warps_held",
    "saxpy_grid_stride",
)

__getattr__, __dir__ = attach(__name__, __file__)

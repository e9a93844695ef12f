"""The exercises of notebook 03: which thread does which element."""

NOTEBOOK = "03_threads_blocks_grids"
EXERCISES = (
    "global_index",
    "blocks_for",
    "vector_add",
    "matrix_add_2d",
    "rgb_to_gray",
    "mirror",
    "saxpy_grid_stride",
)

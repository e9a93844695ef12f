"""The exercises of notebook 06: a ladder of matrix products."""

from gpulearn.lazy import attach

NOTEBOOK = "06_matmul_ladder"
EXERCISES = (
    "matmul_naive",
    "matmul_coalesced",
    "matmul_tiled",
    "tile_intensity",
    "matmul_register_strip",
    "matmul_register_tiled",
)

__getattr__, __dir__ = attach(__name__, __file__)

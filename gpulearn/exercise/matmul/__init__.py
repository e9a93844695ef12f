"""The exercises of notebook 06: four rungs of the ladder of matrix products."""

NOTEBOOK = "06_matmul_ladder"
EXERCISES = (
    "matmul_naive",
    "matmul_coalesced",
    "matmul_tiled",
    "matmul_register_tiled",
)

"""The exercises of notebook 06: four rungs of the ladder of matrix products."""

EXERCISES = (
    "matmul_naive",
    "matmul_coalesced",
    "matmul_tiled",
    "matmul_register_tiled",
)

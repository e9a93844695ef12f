"""The exercises of notebook 04."""

NOTEBOOK = "04_memory_coalescing"
EXERCISES = (
    "copy_coalesced",
    "sectors_of_a_warp",
    "column_sums",
    "soa_norms",
    "stretch_points",
    "transpose_naive",
)

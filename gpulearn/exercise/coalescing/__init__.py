"""The exercises of notebook 04."""

NOTEBOOK = "04_memory_coalescing"
EXERCISES = (
    "copy_coalesced",
    "column_sums",
    "soa_norms",
    "transpose_naive",
)

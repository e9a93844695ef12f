"""The exercises of notebook 04."""

EXERCISES = (
    "copy_coalesced",
    "column_sums",
    "soa_norms",
    "transpose_naive",
)

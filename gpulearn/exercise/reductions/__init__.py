"""The exercises of notebook 07: counts, sums, running sums, and a softmax."""

NOTEBOOK = "07_atomics_reductions_scans"
EXERCISES = (
    "histogram_shared",
    "sum_blocks",
    "warp_sum",
    "exclusive_scan",
    "softmax_rows",
)

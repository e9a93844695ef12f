"""The exercises of notebook 07: threads that agree on one number."""

from gpulearn.lazy import attach

NOTEBOOK = "07_atomics_reductions_scans"
EXERCISES = (
    "histogram_shared",
    "sum_blocks",
    "warp_sum",
    "grid_sum_last",
    "softmax_rows",
    "exclusive_scan",
    "compact_warps",
)

__getattr__, __dir__ = attach(__name__, __file__)

"""The exercises of notebook 15: two all-reduces, what a ring sends, and what a link costs."""

NOTEBOOK = "15_collectives"
EXERCISES = (
    "all_reduce_via_root",
    "ring_all_reduce",
    "ring_bytes_per_rank",
    "fit_alpha_beta",
)

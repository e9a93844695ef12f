"""The exercises of notebook 15: all-reduces, what they send, and what a link costs."""

from gpulearn.lazy import attach

NOTEBOOK = "15_collectives"
EXERCISES = (
    "all_reduce_via_root",
    "ring_all_reduce",
    "ring_bytes_per_rank",
    "gather_rows",
    "halving_doubling_cost",
    "fit_alpha_beta",
)

__getattr__, __dir__ = attach(__name__, __file__)

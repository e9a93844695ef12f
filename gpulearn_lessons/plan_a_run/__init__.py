"""The exercises of notebook 23: a GPU chosen, a run planned, and what both cost."""

from gpulearn.lazy import attach

NOTEBOOK = "23_plan_a_run"
EXERCISES = (
    "cheapest_gpu_that_fits",
    "cheapest_plan",
    "model_flops",
    "fits_in_memory",
    "best_layout",
    "run_cost",
)

__getattr__, __dir__ = attach(__name__, __file__)

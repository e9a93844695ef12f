"""The exercises of notebook 23: operations, memory, layout and cost of a planned run."""

NOTEBOOK = "23_plan_a_run"
EXERCISES = (
    "model_flops",
    "fits_in_memory",
    "best_layout",
    "run_cost",
)

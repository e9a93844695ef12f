"""The exercises of notebook 14: what a training step keeps in memory, and what it waits for."""

NOTEBOOK = "14_memory_precision_time"
EXERCISES = (
    "memory_budget",
    "recompute_peak",
    "recompute_plan",
    "scale_the_loss",
    "find_the_bottleneck",
)

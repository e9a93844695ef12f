"""The exercises of notebook 13: a training step, its gradients, its memory, its restart."""

NOTEBOOK = "13_training_loop"
EXERCISES = (
    "train_step",
    "accumulate_gradients",
    "clip_by_global_norm",
    "memory_budget",
    "save_and_resume",
)

"""The exercises of notebook 13: a training step, the loop around it, checkpoints."""

from gpulearn.lazy import attach

NOTEBOOK = "13_training_loop"
EXERCISES = (
    "train_step",
    "train_epochs",
    "clip_by_global_norm",
    "accumulate_gradients",
    "stop_early",
    "save_and_resume",
)

__getattr__, __dir__ = attach(__name__, __file__)

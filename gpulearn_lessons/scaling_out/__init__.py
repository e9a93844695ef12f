"""The exercises of notebook 17: efficiency, rates for large batches, how many GPUs are worth it."""

from gpulearn.lazy import attach

NOTEBOOK = "17_scaling_out"
EXERCISES = ("scaling_efficiency", "scaled_learning_rate", "lars_step", "how_many_gpus")

__getattr__, __dir__ = attach(__name__, __file__)

"""The exercises of notebook 10: steps downhill, how long they may be, and how many it takes."""

from gpulearn.lazy import attach

NOTEBOOK = "10_gradient_descent"
EXERCISES = (
    "gradient_step",
    "largest_stable_step",
    "steps_needed",
    "momentum_step",
    "adam_step",
    "adamw_step",
)

__getattr__, __dir__ = attach(__name__, __file__)

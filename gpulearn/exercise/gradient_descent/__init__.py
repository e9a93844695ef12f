"""The exercises of notebook 10: steps downhill, how long they may be, and how many it takes."""

NOTEBOOK = "10_gradient_descent"
EXERCISES = (
    "gradient_step",
    "largest_stable_step",
    "steps_needed",
    "momentum_step",
    "adam_step",
    "adamw_step",
)

"""The exercises of notebook 10: steps downhill, slopes from values, and the limit of a step."""

NOTEBOOK = "10_gradient_descent"
EXERCISES = (
    "gradient_step",
    "momentum_step",
    "adam_step",
    "adamw_step",
    "numerical_gradient",
    "largest_stable_step",
)

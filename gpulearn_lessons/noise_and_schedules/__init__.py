"""The exercises of notebook 11: saddles, schedules, numerical gradients, a kernel."""

NOTEBOOK = "11_noise_and_schedules"
EXERCISES = (
    "escape_saddle",
    "warm_up_cosine_rate",
    "range_test",
    "numerical_gradient",
    "descend_on_gpu",
)

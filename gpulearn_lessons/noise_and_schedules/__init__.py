"""The exercises of notebook 11: saddles, schedules, slopes from values, a walk in every thread."""

NOTEBOOK = "11_noise_and_schedules"
EXERCISES = (
    "escape_saddle",
    "warm_up_cosine_rate",
    "range_test",
    "numerical_gradient",
    "descend_on_gpu",
)

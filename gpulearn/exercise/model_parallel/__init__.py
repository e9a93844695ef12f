"""The exercises of notebook 19: a model whose layers, or whose matrices, lie on several ranks."""

NOTEBOOK = "19_pipeline_part"
EXERCISES = (
    "pipeline_schedule",
    "bubble_fraction",
    "mend_the_pipeline",
)

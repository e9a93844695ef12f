"""The exercises of notebook 19: a model whose matrices, or whose layers, lie on several ranks."""

NOTEBOOK = "19_model_parallel"
EXERCISES = (
    "column_parallel",
    "row_parallel",
    "split_heads",
    "vocabulary_loss",
    "bubble_fraction",
    "pipeline_schedule",
    "mend_the_pipeline",
)

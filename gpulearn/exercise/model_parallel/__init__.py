"""The exercises of notebook 19: layers dealt out over ranks, by columns, rows, heads and tokens."""

NOTEBOOK = "19_model_parallel"
EXERCISES = (
    "column_parallel",
    "row_parallel",
    "split_heads",
    "vocabulary_loss",
)

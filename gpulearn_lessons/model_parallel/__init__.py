"""The exercises of notebook 19: a model whose matrices, or whose layers, lie on several ranks."""

from gpulearn.lazy import attach

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

__getattr__, __dir__ = attach(__name__, __file__)

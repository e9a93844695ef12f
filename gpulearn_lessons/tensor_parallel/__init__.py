"""The exercises of notebook 19: layers whose matrices are split over several ranks."""

from gpulearn.lazy import attach

NOTEBOOK = "19_tensor_parallel"
EXERCISES = ("column_parallel", "row_parallel", "split_heads", "vocabulary_loss")

__getattr__, __dir__ = attach(__name__, __file__)

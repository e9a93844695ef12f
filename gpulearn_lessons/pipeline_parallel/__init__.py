"""The exercises of notebook 20: whole layers on each rank, and schedules that keep ranks busy."""

from gpulearn.lazy import attach

NOTEBOOK = "20_pipeline_parallel"
EXERCISES = ("pipeline_schedule", "bubble_fraction", "mend_the_pipeline")

__getattr__, __dir__ = attach(__name__, __file__)

"""The exercises of notebook 21: resuming after a kill, saving, stragglers, time limits."""

from gpulearn.lazy import attach

NOTEBOOK = "21_fault_tolerance"
EXERCISES = ("resume_elastic", "checkpoint_interval", "find_the_straggler", "drain_and_requeue")

__getattr__, __dir__ = attach(__name__, __file__)

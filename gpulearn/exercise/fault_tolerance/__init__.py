"""The exercises of notebook 21: how often to save, and the end before a time limit."""

NOTEBOOK = "21_fault_tolerance"
EXERCISES = ("checkpoint_interval", "drain_and_requeue")

"""The exercises of notebook 21: going on after a death, how often to save, who is slow, and the end."""

NOTEBOOK = "21_fault_tolerance"
EXERCISES = ("resume_elastic", "checkpoint_interval", "find_the_straggler", "drain_and_requeue")

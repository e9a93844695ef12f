"""The exercises of notebook 21: going on after a death, and who makes everybody wait."""

NOTEBOOK = "21_fault_tolerance"
EXERCISES = ("resume_elastic", "find_the_straggler")

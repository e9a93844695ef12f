"""The exercises of notebook 02: the roofline's three formulas, and choosing a GPU by it."""

NOTEBOOK = "02_roofline"
EXERCISES = (
    "arithmetic_intensity",
    "ridge_point",
    "attainable",
    "cheapest_gpu_that_fits",
)

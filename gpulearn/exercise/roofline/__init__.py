"""The exercises of notebook 02: the roofline, and a kernel analysed by it."""

NOTEBOOK = "02_roofline"
EXERCISES = (
    "arithmetic_intensity",
    "ridge_point",
    "attainable",
    "analyse_stencil",
)

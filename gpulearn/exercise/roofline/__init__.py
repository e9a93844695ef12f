"""The exercises of notebook 02: the roofline, a kernel analysed by it, and a GPU chosen."""

NOTEBOOK = "02_roofline"
EXERCISES = (
    "arithmetic_intensity",
    "ridge_point",
    "attainable",
    "analyse_stencil",
    "cheapest_gpu_that_fits",
)

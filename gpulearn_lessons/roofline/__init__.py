"""The exercises of notebook 02: the roofline, and a kernel analyzed by it."""

from gpulearn.lazy import attach

NOTEBOOK = "02_roofline"
EXERCISES = (
    "arithmetic_intensity",
    "ridge_point",
    "attainable",
    "analyze_stencil",
)

__getattr__, __dir__ = attach(__name__, __file__)

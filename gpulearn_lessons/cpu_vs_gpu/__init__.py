"""The exercises of notebook 01: the matrix product, its cost, and how it is timed."""

from gpulearn.lazy import attach

NOTEBOOK = "01_cpu_vs_gpu_matmul"
EXERCISES = (
    "matmul_loops",
    "matmul_flops",
    "crossover",
    "time_correctly",
)

__getattr__, __dir__ = attach(__name__, __file__)

"""The exercises of notebook 01: the matrix product, its cost, and how it is timed."""

EXERCISES = (
    "matmul_loops",
    "matmul_flops",
    "crossover",
    "time_correctly",
)

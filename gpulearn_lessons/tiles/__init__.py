"""The exercises of notebook B: a softmax and a matrix product as Triton kernels."""

NOTEBOOK = "B_tiles"
EXERCISES = ("softmax_tile", "matmul_tile")

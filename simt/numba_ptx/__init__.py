"""What Numba's compiler makes of a kernel, without a GPU: its PTX, and launches of that."""

"""Tensor parallelism: the matrices of one layer dealt out over ranks."""

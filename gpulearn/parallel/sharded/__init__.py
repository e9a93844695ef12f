"""Sharded training: optimiser state, gradients and parameters, each kept once for all ranks."""

"""Networks on NumPy arrays: automatic differentiation, gradients, layers."""

"""Networks on NumPy arrays: automatic differentiation, gradients, layers."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

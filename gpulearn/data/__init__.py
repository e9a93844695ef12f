"""Data that comes with the package, as NumPy arrays."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

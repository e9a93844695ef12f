"""The functions that the notebooks are about, plain form first."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

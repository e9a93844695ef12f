"""Many ranks: real processes that really communicate, started from a notebook cell."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

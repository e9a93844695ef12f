"""Training on one GPU: models, the loop, precision, memory and checkpoints. Needs torch."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

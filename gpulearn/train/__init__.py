"""Training on one GPU: models, the loop, precision, memory and checkpoints. Needs torch."""

from gpulearn import _require

_require.package("torch", "Training")

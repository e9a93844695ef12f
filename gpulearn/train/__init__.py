"""Training on one GPU: models, the loop, precision, memory and checkpoints. Needs torch."""

from gpulearn import require

require.package("torch", "Training")

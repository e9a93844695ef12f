"""What notebook 22 asks beforehand."""

from gpulearn.exercise.broken_tutorials.predictions_ranks import OF_RANKS

PREDICTIONS = OF_RANKS

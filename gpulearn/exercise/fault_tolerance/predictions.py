"""What notebook 21 asks beforehand."""

from gpulearn.exercise.fault_tolerance import predictions_operations

PREDICTIONS = (*predictions_operations.PREDICTIONS,)

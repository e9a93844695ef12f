"""What notebook 23 asks beforehand."""

from gpulearn.exercise.plan_a_run import predictions_cluster

PREDICTIONS = predictions_cluster.PREDICTIONS

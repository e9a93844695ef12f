"""What the second half of notebook 23 asks beforehand: the plan of a cluster run."""

from gpulearn.exercise.prediction import Prediction

PREDICTIONS: tuple[Prediction, ...] = ()

"""What the cases of many ranks ask beforehand."""

from gpulearn.exercise.prediction import Prediction

OF_RANKS: tuple[Prediction, ...] = ()

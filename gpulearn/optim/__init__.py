"""Gradient descent on arrays: steps, schedules, surfaces to walk on, and the paths taken."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

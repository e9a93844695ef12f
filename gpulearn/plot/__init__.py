"""Figures, tables and widgets: the only place that draws."""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

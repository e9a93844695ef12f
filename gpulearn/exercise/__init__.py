"""The exercises, by topic: task, cases, known wrong and right answers, hints.

The names of `__init__.pyi` are what an exercise is made of, in a file of your own too.
"""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

"""What an exercise is made of, in a file of your own too; the folders hold the course's, by topic.

Each has a task, cases, known wrong and right answers, and hints.
"""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

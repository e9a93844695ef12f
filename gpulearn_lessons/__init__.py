"""The lessons, a folder for each topic: its exercises and predictions, and what it alone uses.

An exercise is found as an instructor's own is: by the name of its module.
"""

import os

import simt

simt.internal[__name__] = os.path.dirname(__file__)  # noqa: PTH120 - pathlib takes longer to load

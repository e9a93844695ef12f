"""Grading: whole folders of submissions, each answer run where it can forge nothing."""

import os

import simt

simt.internal[__name__] = os.path.dirname(__file__)  # noqa: PTH120 - pathlib takes longer to load

"""`python -m gpulearn course`: a course pack of chosen notebooks and exercises.

The folder that it writes holds the notebooks for students, an instructor's guide with solutions,
and what nbgrader, Otter, GitHub Classroom and `python -m gpulearn grade` take. Its README says how
to use each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpulearn.errors import GpulearnError
from gpulearn_grading import settings as settings_of
from gpulearn_grading.course.forms import counted
from gpulearn_grading.course.pack import pack, write
from gpulearn_grading.course.selection import assignments, points_of
from gpulearn_grading.settings import GradingSettings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpulearn course", description=__doc__)
    parser.add_argument(
        "-n", "--notebooks", required=True, metavar="NUMBER,…", help="such as 03,04,05"
    )
    parser.add_argument(
        "-e", "--exercises", default="", metavar="NAME,…",
        help="those that count, by name, or file.py:name for one of your own (default: those of "
        "the settings; else all of the notebooks)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="for the pack"
    )
    parser.add_argument(
        "-s", "--settings", type=Path, metavar="FILE.toml",
        help="weights, deadline and limits, as `python -m gpulearn grade` takes them",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="folder", type=Path, metavar="FOLDER",
        help="that holds the notebooks (default: those of the checkout)",
    )  # fmt: skip
    parser.add_argument(
        "--force", action="store_true",
        help="write over the files of an older pack; nothing is removed",
    )  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a pack, and say what is in it."""
    options = _parser().parse_args(arguments)
    try:
        settings = settings_of.load(options.settings) if options.settings else GradingSettings()
        exercises = options.exercises.split(",") if options.exercises else settings.exercises
        selected = assignments(options.folder, options.notebooks.split(","), exercises, settings)
        write(pack(selected, settings), options.output, over=options.force)
    except GpulearnError as error:
        print(error, file=sys.stderr)
        return 2
    points = points_of(selected)
    total = counted(sum(points.values()), "point")
    print(
        f"{counted(len(selected), 'notebook')}, {counted(len(points), 'exercise')} for "
        f"{total}: {options.output}, where README.md says how to use it."
    )
    return 0

"""`python -m gpulearn exercise check FILE.py`: whether your own exercises tell answers apart.

Each wrong answer that the file knows must get its own hint, and each right one must pass. Those
that do not are listed, with what they were told; the status is 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Sequence

from gpulearn.errors import GpulearnError
from gpulearn.judge.catalogue import exercises_of
from gpulearn.judge.own_check import proved


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove the exercises of a file, and print what came of it."""
    parser = argparse.ArgumentParser(prog="gpulearn exercise", description=__doc__)
    parser.add_argument("what", choices=["check"])
    parser.add_argument("file", help="a .py file with exercises")
    options = parser.parse_args(arguments)
    try:
        reports = []
        for exercise in exercises_of(options.file).values():
            with contextlib.redirect_stdout(io.StringIO()):  # what known answers print
                reports.append(proved(exercise))
            print(reports[-1])
    except GpulearnError as error:
        print(error, file=sys.stderr)
        return 2
    return int(not all(report.ok for report in reports))

"""`python -m gpulearn grade`: a folder of submissions, graded.

Each student's notebook, `.py` file or folder is read, and each answer judged as `gl.check` judges
it, in a process of its own without network, with limits of time, memory, processes, files and
output. Beside the CSV stand the same results as JSON and as pages to read, the list of students,
and the points as Canvas or Moodle imports them. Whoever stops it can go on later. The status is 1
if an answer could not be judged or a file not be written, 2 if folder or settings cannot be read.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from gpulearn.errors import BadInput, GpulearnError
from gpulearn.judge.catalogue import find
from gpulearn_grading import settings as settings_of
from gpulearn_grading.apart import sandbox
from gpulearn_grading.grading import Grading, grade
from gpulearn_grading.results import write
from gpulearn_grading.settings import OVERRIDES, USUAL, GradingSettings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpulearn grade", description=__doc__)
    parser.add_argument("folder", type=Path, help="a notebook, .py file or folder for each student")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("results.csv"), metavar="FILE.csv",
        help="results, with the other files beside it (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "-s", "--settings", type=Path, metavar="FILE.toml",
        help=f"exercises, weights, deadline, limits (default: {USUAL} in the folder, if there)",
    )  # fmt: skip
    parser.add_argument(
        "-e", "--exercises", metavar="NAME,…",
        help="names of exercises, or file.py:name (default: those that are answered)",
    )  # fmt: skip
    parser.add_argument(
        "-j", "--jobs", type=int, default=0, help="answers at a time (default: one on each core)"
    )
    parser.add_argument(
        "--anonymous", action="store_true",
        help="call students by numbers; FILE.students.csv says whose they are",
    )  # fmt: skip
    parser.add_argument(
        "--no-walls", action="store_true",
        help="grade also where this system has no walls to put round answers",
    )  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade a folder, and write what came of it; 1 if an answer could not be judged."""
    options = _parser().parse_args(arguments)
    output: Path = options.output
    try:
        _check(options)
        settings = _settings(options)
        done = grade(
            options.folder, settings, output.resolve().with_suffix(".journal"),
            workers=options.jobs, anonymous=options.anonymous, progress=_progress,
        )  # fmt: skip
    except GpulearnError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here", file=sys.stderr)
        return 130
    faults = write(done, output)
    for fault in faults:
        print(fault, file=sys.stderr)
    return _report(done, output) or int(bool(faults))


def _check(options: argparse.Namespace) -> None:
    """Refuse what makes no sense, and to grade where answers could reach this computer."""
    output, here = options.output, Path.cwd()
    if output.suffix != ".csv":
        raise BadInput(f"--output is {str(output)!r}: give a file that ends in .csv.")
    if not output.resolve().parent.is_dir():
        raise BadInput(f"There is no folder {str(output.parent)!r} for the results.")
    if options.jobs < 0:
        raise BadInput(f"--jobs is {options.jobs}: give a number from 1 on.")
    if str(here) in sys.path[:1] and here.is_relative_to(options.folder.resolve()):
        raise BadInput(
            "Python imports what students call numpy.py where it is started among their files: "
            "start the grader in another folder, or as `gpulearn grade`."
        )
    lacking = sandbox.lacking()
    if lacking and not options.no_walls:
        raise BadInput(
            f"There are no walls round answers here, so they could reach your files and the "
            f"network: {lacking}. Use Linux or a container that allows user namespaces, or say "
            f"--no-walls if you trust every submission."
        )
    if lacking:
        print(
            f"No walls round the answers: {lacking}. They can reach files and the network; limits "
            f"of time, memory and output hold.",
            file=sys.stderr,
        )


def _settings(options: argparse.Namespace) -> GradingSettings:
    usual = options.folder / USUAL
    beside = options.folder.resolve().parent / USUAL
    if not options.settings and not usual.is_file() and beside.is_file():
        print(f"{beside} is not used: name it with --settings.", file=sys.stderr)
    file = options.settings or (usual if usual.is_file() else None)
    overrides = settings_of.overrides_of(options.folder / OVERRIDES)
    settings = settings_of.load(file) if file else GradingSettings(overrides=overrides)
    if options.exercises:
        places = [find(name.strip()) for name in options.exercises.split(",")]
        names = [f"{Path(e.file).resolve()}:{e.name}" if e.file else e.name for e in places]
        settings = dataclasses.replace(settings, exercises=tuple(names))
    return settings


def _progress(done: int, of: int) -> None:
    print(f"\r{done} of {of} answers", end="\n" * (done == of), file=sys.stderr, flush=True)


def _report(done: Grading, output: Path) -> int:
    """Say what came of it; 1 if an answer could not be judged."""
    verdicts = [verdict for student in done.students for verdict in student.verdicts]
    passed = sum(verdict.passed for verdict in verdicts)
    print(
        f"{len(done.students)} students, {len(verdicts)} answers, {passed} right, in "
        f"{done.seconds:.0f} s: {output}, and beside it the other files of these results."
    )
    if done.reported:
        print(done.reported)
    if done.left_out:
        print("Left out:", *done.left_out, sep="\n  ", file=sys.stderr)
    lost = [verdict.hint for verdict in verdicts if verdict.kind == "not judged"]
    if lost:
        print(f"{len(lost)} answers could not be judged, such as {lost[0]}", file=sys.stderr)
    return int(bool(lost))

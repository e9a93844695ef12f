"""What `make test` leaves to `make check`: the tests marked `full`.

Of each exercise the newcomer's suite tries the reference, one other right answer and two wrong
ones; of a topic that the last commit or the working tree changed, all of them. Of any other test
it tries two of its parameters. They are drawn by the commit, so that all have their turn.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# folders and files of tests that take long, and what they hold is held in a shorter form elsewhere
LONG = (
    "tests/browser",
    "tests/notebooks",
    "tests/project/site",
    "tests/simt/conformance",
    "tests/grading/course/test_graders.py",
)
NOTEBOOKS = re.compile(r"test_runs\[(03|15)_\w+-(both|solved|solution)\]")
ANSWERS = ("test_each_right_answer_passes", "test_each_wrong_answer_gets_its_hint")
DRAWN = 2  # of a test's parameters; of each exercise's answers


def mark_full(items: Iterable[pytest.Item]) -> None:
    """Mark what only the full suite runs."""
    tests: dict[tuple[Path, str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.path.relative_to(ROOT).as_posix().startswith(LONG):
            if not NOTEBOOKS.search(item.nodeid):
                item.add_marker("full")
        elif parameters := getattr(getattr(item, "callspec", None), "params", None):
            name = item.name.partition("[")[0]
            if name not in ANSWERS:
                tests[item.path, name, ""].append(item)
            elif (exercise := parameters["exercise"]).notebook not in _changed():
                tests[item.path, name, exercise.name].append(item)
    for (_, name, _), same in tests.items():
        # the reference is the first right answer
        first, rest = (same[:1], same[1:]) if name == ANSWERS[0] else ([], same)
        for item in sorted(rest, key=_by_lot)[DRAWN - len(first) :]:
            item.add_marker("full")


def _by_lot(item: pytest.Item) -> str:
    return hashlib.sha256(f"{_git('rev-parse', 'HEAD')} {item.nodeid}".encode()).hexdigest()


@cache
def _git(*arguments: str) -> str:
    """What git says; nothing outside of a checkout."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout


@cache
def _changed() -> frozenset[str]:
    """The notebooks whose topic's folder differs from the commit before the last one."""
    from gpulearn.judge.catalogue import topics

    files = _git("diff", "--name-only", "HEAD~1")
    changed = set(re.findall(r"^gpulearn_lessons/(\w+)/", files, re.MULTILINE))
    return frozenset(
        topic.NOTEBOOK for topic in topics() if topic.__name__.rpartition(".")[2] in changed
    )

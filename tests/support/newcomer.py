"""What `make test` leaves to `make check`: whole folders, and the tests marked `full`.

Of each exercise the newcomer's suite tries the reference and one other right answer, of every
second one two wrong answers as well; of a topic that the last commit or the working tree changed,
all of them. Of any other test it tries two of its parameters. They are drawn by the commit, so
that all have their turn.
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
# what takes long and is held here in a shorter form, what starts many processes, and the tests of
# what a newcomer does not touch
LONG = (
    "tests/browser", "tests/lessons", "tests/grading/course",
    "tests/gpulearn/compilers", "tests/gpulearn/gpu/test_ranks.py",
    "tests/gpulearn/perf/test_ladder.py", "tests/gpulearn/plot", "tests/gpulearn/scaling",
    "tests/gpulearn/parallel/clinic", "tests/gpulearn/parallel/fault_tolerance",
    "tests/gpulearn/parallel/test_launch_surroundings.py",
    "tests/gpulearn/train/test_checkpointing.py",
    "tests/project/recorders", "tests/project/site", "tests/project/tools",
    "tests/project/test_machine_report.py", "tests/project/test_simt_alone.py",
    "tests/simt/conformance", "tests/simt/programs/test_run.py", "tests/simt/test_compiled.py",
    "tests/simt/test_fuzz.py", "tests/simt/test_number_edges.py", "tests/simt/test_robust.py",
)  # fmt: skip
NOTEBOOKS = re.compile(r"test_runs\[(03|15)_\w+-solution\]")  # of all tests of notebooks
RIGHT, WRONG = "test_each_right_answer_passes", "test_each_wrong_answer_gets_its_hint"
DRAWN = 2  # of a test's parameters; of each exercise's answers


def left_out(path: Path) -> bool:
    """Whether the newcomer's suite does not even read a file or folder."""
    return path.relative_to(ROOT).as_posix().startswith(LONG)


def mark_full(items: Iterable[pytest.Item]) -> None:
    """Mark what only the full suite runs."""
    tests: dict[tuple[Path, str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if left_out(item.path) or (
            item.path.parent.name == "notebooks" and not NOTEBOOKS.search(item.nodeid)
        ):
            item.add_marker("full")
        elif parameters := getattr(getattr(item, "callspec", None), "params", None):
            name = item.name.partition("[")[0]
            if name not in (RIGHT, WRONG):
                tests[item.path, name, ""].append(item)
            elif (exercise := parameters["exercise"]).notebook not in _changed():
                tests[item.path, name, exercise.name].append(item)
    for (_, name, exercise), same in tests.items():
        # the reference is the first right answer
        first, rest = (same[:1], same[1:]) if name == RIGHT else ([], same)
        drawn = 0 if name == WRONG and _lot(exercise) < "8" else DRAWN - len(first)
        for item in sorted(rest, key=lambda item: _lot(item.nodeid))[drawn:]:
            item.add_marker("full")


def _lot(name: str) -> str:
    return hashlib.sha256(f"{_git('rev-parse', 'HEAD')} {name}".encode()).hexdigest()


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

"""A folder of submissions graded, several at a time; what is done is kept, and not done again."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import simt
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import find, places
from gpulearn_grading.apart.limits import Confinement
from gpulearn_grading.apart.sandbox import HOMES, SOCKETS
from gpulearn_grading.judge import Verdict
from gpulearn_grading.settings import USUAL, GradingSettings
from gpulearn_grading.slices import is_written_out
from gpulearn_grading.submissions import Submission, read, students
from gpulearn_grading.worker import Worker, WorkerLost
from simt.device.selection import cores

TRIES = 2  # of an answer at which a judge got lost


@dataclass(frozen=True)
class GradedStudent:
    """A student's verdicts and score."""

    student: str  # as the submission is called
    verdicts: tuple[Verdict, ...]  # one for each exercise, in their order
    points: float  # of right answers, less what being late costs
    days_late: int  # days begun after the deadline


@dataclass
class Grading:
    """What came of a folder."""

    students: list[GradedStudent] = field(default_factory=list)  # in the order of their names
    exercises: tuple[str, ...] = ()  # names, in their order
    most: float = 0.0  # points of a student who has everything right
    lacks: str = ""  # which walls the answers lacked here, in one sentence, or ""
    left_out: tuple[str, ...] = ()  # files that are no submission, each with the reason
    seconds: float = 0.0  # that it took


def grade(
    folder: Path,
    settings: GradingSettings,
    journal: Path,
    *,
    workers: int = 0,
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> Grading:
    """Grade a folder of submissions.

    Args:
        folder: with a notebook, a `.py` file or a folder for each student.
        settings: the instructor's.
        journal: a file to which each verdict is added. What stands there already, of the same
            text under the same settings, is not judged again.
        workers: judges at a time; as many as there are cores if 0.
        progress: is called with how many answers are done, of how many.
    """
    if not hasattr(os, "fork"):
        raise BadInput(f"{sys.platform} cannot grade: use Linux, macOS or WSL, which can fork.")
    begin = time.monotonic()
    submissions, left_out = students(folder)
    handed_in = _without(submissions, settings.exercises, folder, left_out)
    exercises = settings.exercises or _answered(handed_in)
    if not exercises:
        raise BadInput(f"No submission in {str(folder)!r} defines an answer to an exercise.")
    # all answers to one exercise in a row: what a judge finds out of its known ones is used again
    tasks = [(submission, place) for place in exercises for submission in handed_in]
    keys = [_key(submission, place, settings) for submission, place in tasks]
    known, lacks = _known(journal)
    todo = [n for n, key in enumerate(keys) if key not in known]
    progress(len(tasks) - len(todo), len(tasks))
    if todo:
        lacks = _judge_all(folder, tasks, keys, todo, known, journal, settings, workers, progress)
    graded = []
    for n, student in enumerate(handed_in):
        mine = [known[key] for key in keys[n :: len(handed_in)]]
        days = settings.days_late(student.student, student.moment)
        points = sum(settings.weights.get(v.exercise, 1.0) for v in mine if v.passed)
        score = round(points * settings.kept(days), 4)
        graded.append(GradedStudent(student.student, tuple(mine), score, days))
    names = tuple(find(place).name for place in exercises)
    ours = [folder.resolve() / USUAL, *journal.parent.glob(f"{journal.stem}.*")]
    left_out = {path: why for path, why in left_out.items() if path.resolve() not in ours}
    most = sum(settings.weights.get(name, 1.0) for name in names)
    unused = tuple(f"{path.relative_to(folder)}: {why}" for path, why in left_out.items())
    return Grading(graded, names, most, lacks, unused, time.monotonic() - begin)


def _without(
    submissions: Sequence[Submission],
    exercises: Sequence[str],
    folder: Path,
    left_out: dict[Path, str],
) -> list[Submission]:
    """The submissions without copies of the instructor's files, which hold the solutions.

    A copy that lies beside the submissions is no student's. Whoever handed in a copy alone stays,
    without an answer. The copies are added to what is left out.
    """
    own = {Path(place.rpartition(":")[0]).name for place in exercises}
    beside = {folder / name for name in own}
    handed_in = [s for s in submissions if not (s.files and beside.issuperset(s.files))]
    copies = [file for s in submissions for file in s.files if file.name in own]
    left_out |= dict.fromkeys(copies, "it has the name of a file of your own exercises")
    return [
        dataclasses.replace(s, files=tuple(file for file in s.files if file.name not in own))
        for s in handed_in
    ]


def _answered(handed_in: Sequence[Submission]) -> tuple[str, ...]:
    """The exercises of the course to which any submission has an answer, in their order."""
    statements = (s for submission in handed_in for s in read(submission).statements)
    defined = {name for s in statements if is_written_out(s.node) for name in s.defines}
    return tuple(name for name in places() if name in defined)


def _key(submission: Submission, place: str, settings: GradingSettings) -> str:
    """What a verdict depends on: the text, the exercise, the limits, this package."""
    about = [_package(), submission.student, submission.digest, place, vars(settings.limits)]
    file = Path(place.rpartition(":")[0])
    if file.name:
        about.append(hashlib.sha256(file.read_bytes()).hexdigest())
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]


@functools.cache
def _package() -> str:
    """The packages as they stand: a clone's exercises change between two versions too."""
    text = hashlib.sha256()
    for folder in simt.internal.values():
        for file in sorted(Path(folder).rglob("*")):
            if file.suffix in (".py", ".hints", ".toml"):
                text.update(file.read_bytes())
    return text.hexdigest()


def _known(journal: Path) -> tuple[dict[str, Verdict], str]:
    """The verdicts of a journal; a last line that was cut short is left out."""
    verdicts: dict[str, Verdict] = {}
    lacks = ""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.is_file() else []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            data = json.loads(line)
            key, lacks = data.pop("key"), data.pop("lacks")
            verdicts[key] = Verdict(**{**data, "notes": tuple(data["notes"])})
    return {key: v for key, v in verdicts.items() if v.kind != "not judged"}, lacks


def _judge_all(
    folder: Path,
    tasks: Sequence[tuple[Submission, str]],
    keys: Sequence[str],
    todo: Sequence[int],
    known: dict[str, Verdict],
    journal: Path,
    settings: GradingSettings,
    workers: int,
    progress: Callable[[int, int], object],
) -> str:
    """Judge what is left to do, and add each verdict to the journal at once; which walls lacked."""
    waiting = iter(todo)  # shared by the threads
    lock, stop, lacking = threading.Lock(), threading.Event(), ""

    def keep(number: int, verdict: Verdict, lacks: str) -> None:
        nonlocal lacking
        with lock:
            known[keys[number]] = verdict
            lacking = lacks or lacking
            line = {"key": keys[number], "lacks": lacks, **dataclasses.asdict(verdict)}
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            progress(len(tasks) - len(todo) + sum(keys[n] in known for n in todo), len(tasks))

    def work(box: Path) -> None:
        box.mkdir()
        confinement = Confinement(
            hidden(folder, journal.parent, settings.exercises), box, settings.limits
        )
        worker: Worker | None = None
        try:
            for number in waiting:
                submission, place = tasks[number]
                verdict, lacks = Verdict(find(place).name, False, "not judged"), ""
                for _ in range(TRIES):
                    worker = worker or Worker(confinement)
                    try:
                        verdict, lacks = worker.verdict(submission, place)
                        break
                    except WorkerLost as error:
                        hint = f"{verdict.exercise}: {error}; nothing is said of the answer."
                        verdict = dataclasses.replace(verdict, hint=hint)
                        worker.close()
                        worker = None
                keep(number, verdict, lacks)
                if stop.is_set():
                    return
        finally:
            if worker is not None:
                worker.close()

    count = min(workers or cores(), len(todo))
    with tempfile.TemporaryDirectory(prefix="gpulearn-grade-") as scratch, \
            ThreadPoolExecutor(count) as threads:  # fmt: skip
        futures = [threads.submit(work, Path(scratch, f"box{n}")) for n in range(count)]
        try:
            wait(futures)
        except BaseException:
            stop.set()
            raise
        for future in futures:
            future.result()
    return lacking


def hidden(folder: Path, results: Path, exercises: Sequence[str] = ()) -> list[Path]:
    """Folders that are to look empty; of Python and the package in them, only these are seen."""
    own = [Path(place.rpartition(":")[0]).parent for place in exercises if ":" in place]
    candidates = [*map(Path, (*SOCKETS, *HOMES)), Path.home(), folder, results, *own]
    return list(dict.fromkeys(path.resolve() for path in candidates if path.is_dir()))

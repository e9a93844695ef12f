"""A folder of submissions graded, several at a time; what is done is kept, and not done again."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import simt
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import find, places
from gpulearn_grading.apart.box import MAX_NOTES
from gpulearn_grading.apart.limits import Confinement
from gpulearn_grading.apart.sandbox import HIDDEN
from gpulearn_grading.judge import Verdict, Worker, WorkerLost
from gpulearn_grading.plain import one_line, plain
from gpulearn_grading.roster import Student, attempts, enrolled, numbered
from gpulearn_grading.settings import OVERRIDES, USUAL, GradingSettings
from gpulearn_grading.slices import is_written_out
from gpulearn_grading.submissions import KINDS, Submission, read, students
from simt.device.selection import cores

TRIES = 2  # of an answer at which a judge got lost
MAX_HINT, MAX_NOTE = 2000, 300  # characters
STUDENTS = ".students.csv"  # of the list of students, beside the results
Task = tuple[Submission, str]  # what is judged, and the place of the exercise


@dataclass(frozen=True)
class Mark(Verdict):
    """A verdict, and what it is worth."""

    points: float = 0.0  # less what being late costs, or as the instructor decided
    days_late: int = 0  # days begun after the deadline
    comment: str = ""  # the instructor's


@dataclass(frozen=True)
class GradedStudent:
    """A student's verdicts and score."""

    student: str  # as the results call the student
    verdicts: tuple[Mark, ...]  # one for each exercise, in their order
    points: float  # of all of them, or as the instructor decided
    days_late: int  # of the latest answer
    comment: str = ""  # the instructor's


@dataclass
class Grading:
    """What came of a folder."""

    students: list[GradedStudent] = field(default_factory=list)  # in the order of their names
    roster: list[Student] = field(default_factory=list)  # the same students, by their names
    exercises: tuple[str, ...] = ()  # names, in their order
    most: float = 0.0  # points of a student who has everything right
    anonymous: bool = False  # whether the students have no names
    lacks: str = ""  # which walls the answers lacked here, in one sentence, or ""
    left_out: tuple[str, ...] = ()  # files that are no submission, each with the reason
    seconds: float = 0.0  # that it took

    @property
    def reported(self) -> str:
        """Which right answers could have told another thing than what came out, in a sentence."""
        names = {v.exercise for s in self.students for v in s.verdicts if v.reported}
        told = "Tried in the answers' own processes, which tell what came out"
        return f"{told}: {', '.join(sorted(names))}." if names else ""


def grade(
    folder: Path,
    settings: GradingSettings,
    journal: Path,
    *,
    workers: int = 0,
    anonymous: bool = False,
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> Grading:
    """Grade a folder with a notebook, a `.py` file or a folder for each student.

    Each verdict is added to the journal at once. What stands there already, of the same text under
    the same settings, is not judged again; nor do the numbers of anonymous students change, which
    the list beside it has. `progress` is called with how many answers are done, of how many.
    """
    if not hasattr(os, "fork"):
        raise BadInput(f"{sys.platform} cannot grade: use Linux, macOS or WSL, which can fork.")
    begin = time.monotonic()
    results = [
        file for file in journal.parent.glob(f"{journal.stem}.*") if file.suffix not in KINDS
    ]
    ours = {path.resolve() for path in (folder / USUAL, folder / OVERRIDES, *results)}
    own = {Path(place.rpartition(":")[0]).name for place in settings.exercises} - {""}
    submissions, left_out = students(folder, ours, own)
    roster = numbered(enrolled(submissions), journal.with_suffix(STUDENTS))
    if anonymous:
        roster.sort(key=lambda student: student.anonymous)
    exercises = settings.exercises or _answered(submissions)
    if not exercises:
        raise BadInput(f"No submission in {str(folder)!r} defines an answer to an exercise.")
    tries = [attempts(student, folder, apart=settings.best_attempt) for student in roster]
    # all answers to one exercise in a row: what a judge finds out of its known ones is used again
    tasks = [(one, place) for place in exercises for each in tries for one in each]
    keys = {task: _key(*task, settings) for task in tasks}
    known, lacks = _known(journal)
    todo = [task for task in tasks if keys[task] not in known]
    kept = len(tasks) - len(todo)
    progress(kept, len(tasks))
    confinement = Confinement(hidden(folder, journal.parent, settings), Path(), settings.limits)
    with closing(_judged(todo, confinement, workers)) as judged:
        for done, (task, verdict, lacking) in enumerate(judged, kept + 1):
            known[keys[task]], lacks = verdict, lacking or lacks
            line = {"key": keys[task], "lacks": lacks, **dataclasses.asdict(verdict)}
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            progress(done, len(tasks))
    names = tuple(find(place).name for place in exercises)
    unused = [plain(f"{path.relative_to(folder)}: {why}") for path, why in left_out.items()]
    called = {name for student in roster for name in student.names}
    unused += [
        f"{plain(name)}: the settings name this student, who handed in nothing"
        for name in sorted(settings.named - called)
    ]
    unused += [
        f"{plain(name)}: {OVERRIDES} names this exercise, which is not graded"
        for name in sorted({name for _, name in settings.overrides} - {*names, ""})
    ]
    graded = []
    for student, each in zip(roster, tries, strict=True):
        verdicts = [(one, [known[keys[one, place]] for place in exercises]) for one in each]
        graded.append(_graded(student, verdicts, settings, anonymous=anonymous))
    return Grading(
        students=graded,
        roster=roster,
        exercises=names,
        most=sum(settings.weights.get(name, 1.0) for name in names),
        anonymous=anonymous,
        lacks=lacks,
        left_out=tuple(unused),
        seconds=time.monotonic() - begin,
    )


def _graded(
    student: Student,
    tries: Sequence[tuple[Submission, Sequence[Verdict]]],
    settings: GradingSettings,
    *,
    anonymous: bool,
) -> GradedStudent:
    """What a student's attempts are worth, exercise by exercise; of equal ones the last counts."""
    names, shown = student.names, student.anonymous if anonymous else student.name
    best: dict[str, Mark] = {}
    for submission, verdicts in tries:
        days = settings.days_late(names, submission.moment)
        for verdict in verdicts:
            points = settings.points(verdict.exercise, verdict.share) * settings.kept(days)
            mark = Mark(**vars(verdict), points=round(points, 4), days_late=days)
            if _rank(mark) >= _rank(best.get(mark.exercise, mark)):
                best[mark.exercise] = mark
    marks = []
    for name, mark in best.items():
        decided = settings.override(names, name)
        hint = mark.hint
        for file in student.files if anonymous else ():
            hint = hint.replace(plain(file.name), f"{shown}{file.suffix}")
        points = mark.points if decided.points is None else decided.points
        comment = one_line(decided.comment, MAX_HINT)
        marks.append(dataclasses.replace(mark, points=points, comment=comment, hint=hint))
    decided = settings.override(names)
    total = round(sum(mark.points for mark in marks), 4)
    return GradedStudent(
        student=plain(shown),
        verdicts=tuple(marks),
        points=total if decided.points is None else decided.points,
        days_late=max(mark.days_late for mark in marks),
        comment=one_line(decided.comment, MAX_HINT),
    )


def _rank(mark: Mark) -> tuple[float, bool]:
    """By which the best of several attempts is found: a wrong answer is better than none."""
    return mark.points, mark.kind not in ("missing", "not solved")


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
    lines = journal.read_text("utf-8", "replace").splitlines() if journal.is_file() else []
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            data = json.loads(line)
            key, lacks = data.pop("key"), data.pop("lacks")
            verdicts[key] = Verdict(**{**data, "notes": tuple(data["notes"])})
    return {key: v for key, v in verdicts.items() if v.kind != "not judged"}, lacks


def _judged(
    tasks: Sequence[Task], confinement: Confinement, workers: int
) -> Generator[tuple[Task, Verdict, str], None, None]:
    """Each task as soon as it is judged, with its verdict and which walls its answer lacked."""
    idle: SimpleQueue[tuple[Confinement, Worker | None]] = SimpleQueue()
    started: set[Worker] = set()

    def judged(task: Task) -> tuple[Task, Verdict, str]:
        verdict, lacks = Verdict(find(task[1]).name, False, "not judged"), ""
        boxed, worker = idle.get()
        try:
            for _ in range(TRIES):
                worker = worker or Worker(boxed)
                started.add(worker)
                try:
                    verdict, lacks = worker.verdict(*task)
                    break
                except WorkerLost as error:
                    hint = f"{verdict.exercise}: {error}; nothing is said of the answer."
                    verdict = dataclasses.replace(verdict, hint=hint)
                    worker.close()
                    worker = None
        finally:
            idle.put((boxed, worker))
        # short lines, whatever the answer had them say
        notes = tuple(one_line(note, MAX_NOTE) for note in verdict.notes[:MAX_NOTES])
        hint = one_line(verdict.hint, MAX_HINT)
        return task, dataclasses.replace(verdict, hint=hint, notes=notes), lacks

    count = min(workers or cores(), len(tasks))
    with (
        TemporaryDirectory(prefix="gpulearn-grade-") as scratch,
        ThreadPoolExecutor(count or 1) as threads,
    ):
        for number in range(count):
            box = Path(scratch, f"box{number}")
            box.mkdir()
            idle.put((confinement._replace(box=box), None))
        futures = [threads.submit(judged, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
            force = False  # a judge is killed when the thread that started it ends: wait for them
            while wait(futures, 0.5 * force).not_done:  # somebody interrupts it
                for judge in list(started):
                    judge.stop(force=force)
                force = True
            for _ in range(count):
                _, worker = idle.get_nowait()
                if worker is not None:
                    worker.close()


def hidden(folder: Path, results: Path, settings: GradingSettings) -> list[Path]:
    """Folders that are to look empty; of Python and the package in them, only these are seen."""
    own = [Path(place.rpartition(":")[0]).parent for place in settings.exercises if ":" in place]
    own += [settings.file.parent] if settings.file else []
    candidates = [*map(Path, HIDDEN), Path.home(), folder, results, *own]
    return list(dict.fromkeys(path.resolve() for path in candidates if path.is_dir()))

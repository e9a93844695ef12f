"""Verdicts on answers, reached where their code does not run.

A kernel is a text: the judge rebuilds it and has the SIMT machine carry it out. An ordinary
function runs in a process of its own behind walls (`sandbox`), is called by the judge case by case,
and returns data, which the judge compares. Where a case holds more than data (a network, a rank's
communicator) or the answer is a whole CUDA program, the trial itself runs there (`ways.way` says
"outcomes"), and the judge compares what it reports. Code that takes the trial over can report an
outcome that it has not reached, so verdicts of these exercises are marked as `reported`. Steps of
a demand, such as real ranks, are taken there too, and what came of them is judged here.

An answer that fetches the solution in its own process gives right data. That is seen as `gl.check`
sees it, by the calls; who copies the published solution as text cannot be told from who wrote it,
so an answer with the very lines of `gl.solution` passes with a note.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import re
import time
from collections.abc import Mapping
from typing import Any

import simt
from gpulearn.errors import BadInput, GpulearnError, MissingPackage, NotSolvedYet, WrongAnswer
from gpulearn.judge import stubs
from gpulearn.judge.catalogue import find
from gpulearn.judge.check import examined, no_function
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.limits import time_limit
from gpulearn.require import shorten
from gpulearn_grading import rebuilt, ways
from gpulearn_grading.apart.box import Box, BoxLost
from gpulearn_grading.apart.limits import Confinement
from gpulearn_grading.apart.server import Server
from gpulearn_grading.apart.values import NotData, decoded
from gpulearn_grading.slices import answer_in
from gpulearn_grading.submissions import SubmittedCode

SENTENCES = {
    "processes": "it starts more than {processes:g} processes, and was ended.",
    "memory": "it takes more than {memory_mib:g} MiB of memory, and was ended.",
    "output": "it prints more than {output_mib:g} MiB, and was ended.",
    "ended": "it ends the process in which it runs.",
    "time": "what it needs of the submission did not end within {seconds:g} s.",
}
# what an exception says → what it is for an instructor
SYMPTOMS = (
    (re.compile(r"it did not end within|does not end"), "time"),
    (re.compile(r"raises MemoryError|GiB of memory|: out of memory\n"), "memory"),
    (re.compile(r"No space left on device|File too large|Disk quota"), "disk"),
    (re.compile(r"raises BlockingIOError|can't start new thread|Too many open files"), "processes"),
    (re.compile(r"it calls the library's"), "borrowed"),
    (re.compile(r"raises SystemExit"), "ended"),
    (re.compile(r"is not here while a submission is graded|gives nothing while"), "forbidden"),
    (re.compile(r"Read-only file system|Network is unreachable"), "forbidden"),
    (re.compile(r"it raises \w+"), "raises"),
)
BORROWED = "it is the library's own: write it yourself."
LONG = 6  # lines, that two people do not write alike
STAND_IN = "exercises_of_the_course.py"  # the instructor's file, without its solutions
PATCHED = re.compile(r"^(?:gl|gpulearn\w*|simt)\b")
READ = re.compile(r"gpulearn\.judge\b|gpulearn_grading\b")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of one answer."""

    exercise: str  # its name
    passed: bool  # whether it is right
    # "passed", "wrong", "not solved", "missing", "unreadable", "raises", "time", "memory",
    # "processes", "disk", "output", "ended", "borrowed", "forbidden", or "not judged"
    kind: str
    hint: str = ""  # what `gl.check` says, or why there is no verdict
    seconds: float = 0.0  # that it took
    # whether its own process told what came out of the trial, and could have told another thing
    reported: bool = False
    notes: tuple[str, ...] = ()  # what the answer did besides, for the instructor to look at
    share: float = 0.0  # of the cases in which it is right


class Judge:
    """Judges answers one after another."""

    def __init__(self, confinement: Confinement) -> None:
        self._server = Server(confinement)
        self._limits = confinement.limits
        self.lacks = ""
        self._share = 0.0  # of the cases in which a wrong answer is right

    def close(self) -> None:
        """End what was started."""
        self._server.close()

    def verdict(self, place: str, code: SubmittedCode) -> Verdict:
        """Judge a submission's answer to one exercise."""
        begin = time.monotonic()
        exercise = find(place)
        notes: dict[str, str] = {}
        self._share = 0.0
        with contextlib.redirect_stdout(io.StringIO()):
            kind, hint = self._judged(exercise, place, code, notes)
        passed = kind == "passed"
        reported = passed and ways.way(place) == "outcomes"
        remarks = tuple(f"{what} ({about})" if about else what for what, about in notes.items())
        seconds = round(time.monotonic() - begin, 2)
        share = 1.0 if passed else self._share
        if exercise.file:  # which the student does not have
            hint = re.sub(r" gl\.case\([^)]*\) gives its inputs\.", "", hint)
        hint = shorten(hint, 4000)
        return Verdict(exercise.name, passed, kind, hint, seconds, reported, remarks, share)

    def _judged(
        self, exercise: Exercise, place: str, code: SubmittedCode, notes: dict[str, str]
    ) -> tuple[str, str]:
        if missing := exercise.missing():
            return "not judged", f"{exercise.name} cannot be judged here: {missing}."
        begins = re.compile(rf"^def {exercise.name}\b", re.MULTILINE)
        drafts = [fault for fault, cell in code.unread if begins.search(cell)]
        file, statements = answer_in(code, exercise.name, notes)
        if file is not None and drafts:
            notes["another cell that defines it cannot be read"] = drafts[0]
        if file is None:
            if drafts:
                return "unreadable", f"{exercise.name}: Python cannot read its cell, {drafts[0]}."
            if files := [fault for fault, cell in code.unread if not cell]:
                return "unreadable", f"{exercise.name}: {files[0]}."
            unread = "".join(f" Not all could be read: {fault}." for fault, _ in code.unread[:1])
            return "missing", f"nothing in the submission defines {exercise.name}.{unread}"
        notes |= _patches(code)
        way = ways.way(place)
        closed = way in ("text", "calls")
        boxes: list[Box] = []

        def opened() -> Box:
            """A process in which the answer is loaded."""
            if not boxes:
                boxes.append(Box(self._server, self._limits, closed=closed))
                self.lacks = boxes[0].lacks
                files, there = code.beside(file), place
                if exercise.file and not closed:  # the file itself may be hidden there
                    there = f"{STAND_IN}:{exercise.name}"
                    files[STAND_IN] = rebuilt.without_solution(exercise)
                with time_limit(self._limits.seconds):
                    loaded = boxes[0].ask(
                        "load",
                        source="".join(statement.text for statement in statements),
                        name=exercise.name,
                        reference=_place_of(exercise) if closed and not exercise.kernel else "",
                        exercise="" if closed else there,
                        files=files,
                    )
                _load_fault(exercise, loaded)
            return boxes[0]

        def values(names: list[str]) -> dict[str, Any]:
            data = dict(decoded(opened().ask("values", names=names).get("result")))
            return {n: value for n, value in data.items() if n in names and value is not None}

        try:
            answer: Any
            if exercise.kernel:
                answer = values([exercise.name]).get(exercise.name)
                if isinstance(answer, str):
                    answer = ways.CompiledElsewhere(exercise, answer, opened)
            elif way == "text":
                answer = rebuilt.kernel(statements, exercise.name, values)
                if answer is not None and answer is exercise.reference:
                    raise _NotLoaded("borrowed", BORROWED)
            else:
                shape = rebuilt.function_shown(statements, exercise.name)
                answer = ways.proxy(exercise, shape, opened)
                if not stubs.is_stub(answer):
                    opened()
            exercise = ways.by_outcomes(place) if way == "outcomes" else exercise
            count = examined(exercise, answer, self._limits.seconds)
            own = exercise.reference
            long = not exercise.kernel and len(stubs.notebook_source(own).splitlines()) >= LONG
            if long and stubs.same_code(answer, own):
                notes["has the lines of gl.solution"] = ""
            if boxes and boxes[0].ended:
                raise BoxLost(boxes[0].ended)
            return "passed", f"right in all {count} cases."
        except _NotLoaded as error:
            kind, sentence = error.args
            return kind, f"{exercise.name}: {sentence}"
        except TimeoutError:
            return "time", f"{exercise.name}: {self._sentence('time')}"
        except NotSolvedYet as error:
            return "not solved", str(error)
        except WrongAnswer as error:
            if exercise.kernel and boxes and boxes[0].ended:  # while it was compiled
                return boxes[0].ended, f"{exercise.name}: {self._sentence(boxes[0].ended)}"
            kind = _kind(str(error))
            self._share = error.share if kind in ("wrong", "raises") else 0.0
            return kind, str(error)
        except BadInput as error:
            return "wrong", str(error)
        except (MissingPackage, NotData) as error:
            return "not judged", str(error)
        except GpulearnError as error:
            ended = (boxes[0].ended if boxes else "") or (isinstance(error, BoxLost) and str(error))
            if not ended:
                return "not judged", str(error)
            return ended, f"{exercise.name}: {self._sentence(ended)}"
        except MemoryError:
            return "memory", f"{exercise.name}: what comes of it takes too much memory to judge."
        except Exception as error:  # what comes from its process may be made to end the judge
            if way == "outcomes" and boxes:
                return "wrong", f"{exercise.name}: what its process reports is no outcome."
            odd = f"{exercise.name}: what it gives cannot be compared ({type(error).__name__})."
            return "not judged", odd
        finally:
            rebuilt.forget()
            for box in boxes:
                box.close()
                notes |= {what: about for what, about in box.notes.items() if what not in notes}

    def _sentence(self, ended: str) -> str:
        return SENTENCES[ended].format(**vars(self._limits))


class _NotLoaded(Exception):  # noqa: N818 - not the grader's error
    """The answer could not be made from the submission; kind and sentence."""


def _load_fault(exercise: Exercise, loaded: Mapping[str, Any]) -> None:
    name = exercise.name
    if loaded.get("borrowed"):
        raise _NotLoaded("borrowed", BORROWED)
    if error := loaded.get("failed"):
        sentence = f"what {name} needs of the submission raises {shorten(str(error), 300)}"
        raise _NotLoaded(_kind(f"it raises {error}"), sentence)
    if loaded.get("missing"):
        raise _NotLoaded("missing", f"nothing in the submission defines {name}.")
    if not loaded.get("callable") and not exercise.kernel:
        raise BadInput(no_function(name, shorten(str(loaded.get("shown")), 100)))


def _kind(sentence: str) -> str:
    return next((kind for symptom, kind in SYMPTOMS if symptom.search(sentence)), "wrong")


def _patches(code: SubmittedCode) -> dict[str, str]:
    """Statements that set something of the package's, which they cannot reach here."""
    notes = {}
    for node in (node for part in code.statements for node in ast.walk(part.node)):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) as changed:
                pass
            case ast.Call(ast.Name("setattr"), [changed, *_]):
                pass
            case _:
                changed = ast.Constant(None)
        if PATCHED.match(text := ast.unparse(changed)):
            notes["changes the library"] = text
        names = isinstance(node, ast.Attribute | ast.ImportFrom | ast.Import)
        if names and READ.search(text := ast.unparse(node)):
            notes["reads the catalogue of answers"] = shorten(text, 80)
    return notes


def _place_of(exercise: Exercise) -> str:
    """Module and name of the solution, where the package has it."""
    function = stubs.unwrapped(exercise.reference)
    module = str(getattr(function, "__module__", ""))
    return f"{module}:{function.__name__}" if module.partition(".")[0] in simt.internal else ""

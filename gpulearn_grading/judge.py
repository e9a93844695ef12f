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

import contextlib
import dataclasses
import io
import os
import re
import resource
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
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
from gpulearn_grading.apart import sandbox
from gpulearn_grading.apart.box import Box, BoxLost
from gpulearn_grading.apart.channel import ChannelClosed, MessageChannel, start
from gpulearn_grading.apart.limits import MIB, Confinement, Limits
from gpulearn_grading.apart.server import Server
from gpulearn_grading.apart.values import NotData, decoded
from gpulearn_grading.slices import answer_in
from gpulearn_grading.submissions import Submission, SubmittedCode, read
from simt.device.selection import data_bytes

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
    (re.compile(r"raises MemoryError|GiB of memory|: out of memory\b|memory exhausted"), "memory"),
    (re.compile(r"No space left on device|File too large|File size limit|Disk quota"), "disk"),
    (re.compile(r"raises BlockingIOError|can't start new thread|Too many open files"), "processes"),
    (re.compile(r"it calls the library's"), "borrowed"),
    (re.compile(r"raises SystemExit"), "ended"),
    (re.compile(r"is not here while a submission is graded|gives nothing while"), "forbidden"),
    (re.compile(r"Read-only file system|Network is unreachable"), "forbidden"),
    (re.compile(r"it raises \w+"), "raises"),
)
MAX_SECONDS = 240.0  # what a judge itself may take, beside an answer's own time
BORROWED = "it is the library's own: write it yourself."
LONG = 6  # lines, that two people do not write alike
STAND_IN = "exercises_of_the_course.py"  # the instructor's file, without its solutions
# what a submission does that cannot reach anything here → how its text shows it
SIGNS = {
    "changes the library": re.compile(
        r"\b(?:gl|gpulearn|simt)\.[\w.]+ *=(?!=).*|(?:del |setattr\() *(?:gl|gpulearn|simt)\b.*"
    ),
    "reads the catalogue of answers": re.compile(r"\bgpulearn(?:\.judge|_grading)\b.*"),
}


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
        # which is a notebook's limit
        hint = re.sub("more than [\\d.]+ GiB( of memory)?", "more memory than it may", hint)
        hint = shorten(hint, 4000)
        return Verdict(exercise.name, passed, kind, hint, seconds, reported, remarks, share)

    def _judged(
        self, exercise: Exercise, place: str, code: SubmittedCode, notes: dict[str, str]
    ) -> tuple[str, str]:
        name = exercise.name
        if missing := exercise.missing():
            return "not judged", f"{name} cannot be judged here: {missing}."
        begins = re.compile(rf"^def {name}\b", re.MULTILINE)
        drafts = [fault for fault, cell in code.unread if begins.search(cell)]
        file, statements = answer_in(code, name, notes)
        if file is None:
            if drafts:
                return "unreadable", f"{name}: Python cannot read its cell, {drafts[0]}."
            if files := [fault for fault, cell in code.unread if not cell]:
                return "unreadable", f"{name}: {files[0]}."
            unread = "".join(f" Not all could be read: {fault}." for fault, _ in code.unread[:1])
            return "missing", f"nothing in the submission defines {name}.{unread}"
        if drafts:
            notes["another cell that defines it cannot be read"] = drafts[0]
        text = "".join(part.text for part in code.statements)
        found = {what: sign.search(text) for what, sign in SIGNS.items()}
        notes |= {what: shorten(sign[0], 80) for what, sign in found.items() if sign}
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
                    there = f"{STAND_IN}:{name}"
                    files[STAND_IN] = rebuilt.without_solution(exercise)
                with time_limit(self._limits.seconds):
                    loaded = boxes[0].ask(
                        "load",
                        source="".join(statement.text for statement in statements),
                        name=name,
                        reference=_place_of(exercise) if closed and not exercise.kernel else "",
                        exercise="" if closed else there,
                        files=files,
                        as_text=bool(exercise.kernel),
                    )
                if loaded.get("borrowed"):
                    raise _NotLoaded("borrowed", BORROWED)
                if error := loaded.get("failed"):
                    error = f"what {name} needs of the submission raises {error}"
                    raise _NotLoaded(_kind(f"it raises {loaded['failed']}"), shorten(error, 400))
                if loaded.get("missing"):
                    raise _NotLoaded("missing", f"nothing in the submission defines {name}.")
                if not loaded.get("callable") and not exercise.kernel:
                    raise BadInput(no_function(name, shorten(str(loaded.get("shown")), 100)))
            return boxes[0]

        def values(names: list[str]) -> dict[str, Any]:
            data = dict(decoded(opened().ask("values", names=names).get("result")))
            return {n: value for n, value in data.items() if n in names and value is not None}

        try:
            answer: Any
            if exercise.kernel:
                answer = values([name]).get(name)
                if isinstance(answer, str):
                    answer = ways.CompiledElsewhere(exercise, answer, opened, self._limits)
            elif way == "text":
                answer = rebuilt.kernel(statements, name, values)
                if answer is not None and answer is exercise.reference:
                    raise _NotLoaded("borrowed", BORROWED)
            else:
                shape = rebuilt.function_shown(statements, name)
                answer = ways.proxy(exercise, shape, opened)
                if not stubs.is_stub(answer):
                    opened()
            exercise = ways.by_outcomes(place) if way == "outcomes" else exercise
            with time_limit(MAX_SECONDS + 4 * self._limits.seconds):  # comparing may take long, too
                count = examined(exercise, answer, self._limits.seconds)
            own = exercise.reference
            long = not exercise.kernel and len(stubs.notebook_source(own).splitlines()) >= LONG
            if long and stubs.same_code(answer, own):
                notes["has the lines of gl.solution"] = ""
            if boxes and boxes[0].ended:
                raise BoxLost(boxes[0].ended)
            return "passed", f"right in all {count} cases." if count > 1 else "right."
        except _NotLoaded as error:
            kind, sentence = error.args
            return kind, f"{name}: {sentence}"
        except TimeoutError:
            return "time", f"{name}: {self._sentence('time')}"
        except NotSolvedYet as error:
            return "not solved", str(error)
        except WrongAnswer as error:
            if exercise.kernel and boxes and boxes[0].ended:  # while it was compiled
                return boxes[0].ended, f"{name}: {self._sentence(boxes[0].ended)}"
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
            return ended, f"{name}: {self._sentence(ended)}"
        except MemoryError:
            return "memory", f"{name}: what comes of it takes too much memory to judge."
        except Exception as error:  # what comes from its process may be made to end the judge
            if way == "outcomes" and boxes:
                return "wrong", f"{name}: what its process reports is no outcome."
            odd = f"{name}: what it gives cannot be compared ({type(error).__name__})."
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


def _kind(sentence: str) -> str:
    return next((kind for symptom, kind in SYMPTOMS if symptom.search(sentence)), "wrong")


def _place_of(exercise: Exercise) -> str:
    """Module and name of the solution, where the package has it."""
    function = stubs.unwrapped(exercise.reference)
    module = str(getattr(function, "__module__", ""))
    return f"{module}:{function.__name__}" if module.partition(".")[0] in simt.internal else ""


class Worker:
    """A judge in a process of its own, so that nothing which it reads can end the grader."""

    def __init__(self, confinement: Confinement) -> None:
        # in a session of its own: Ctrl-C is the grader's to deal with
        self._process, self._channel = start(__spec__.name, confinement, start_new_session=True)
        self._seconds = MAX_SECONDS + 8 * confinement.limits.seconds

    def verdict(self, submission: Submission, place: str) -> tuple[Verdict, str]:
        """What becomes of an answer, and which walls it lacked."""
        try:
            self._channel.end.send((submission, place))
            if not self._channel.end.poll(self._seconds):
                raise WorkerLost("the judge does not answer")
            reply = self._channel.receive()
            lacks = reply.pop("lacks")
        except (ChannelClosed, OSError, KeyError):
            raise WorkerLost("the judge ended") from None
        return Verdict(**{**reply, "notes": tuple(reply["notes"])}), lacks

    def stop(self, *, force: bool) -> None:
        """End the judge while it is at work; who waits for its verdict is told that it is lost."""
        (self._process.kill if force else self._process.terminate)()

    def close(self) -> None:
        """End the judge, and all that it has started."""
        self._channel.end.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class WorkerLost(Exception):  # noqa: N818 - it says what happened
    """The judge has ended, or does not answer."""


def main(end: Connection) -> None:
    """Judge what comes, answer by answer, until the grader is gone."""
    sandbox.bury_with(os.getppid())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended first
    if sys.platform == "linux":
        sandbox.libc.prctl(sandbox.PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody looks into the judge
    confinement = end.recv()
    channel = MessageChannel(end)
    ended = contextlib.suppress(EOFError, ChannelClosed, KeyboardInterrupt)
    with ended, contextlib.closing(Judge(confinement)) as judge:
        # what answers send may be large once read; an answer's own limit is no business of this
        if sys.platform == "linux":
            more = max(confinement.limits.memory_mib, Limits().memory_mib)
            most = data_bytes() + int(more * MIB)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        while True:
            submission, place = end.recv()
            verdict = dataclasses.asdict(judge.verdict(place, read(submission)))
            channel.send({**verdict, "lacks": judge.lacks})


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))

"""A training that a queue's signals end, judged by scripted events: no queue, no waiting."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shorten, shown
from gpulearn_lessons.fault_tolerance.drain import drain_and_requeue

answers = Answers(drain_and_requeue)

GRACE = 3  # steps after a signal, until the job is killed
TOO_MANY = 200  # calls after the end: a loop that never ends


class TimeIsUp(BaseException):
    """Time is up."""


@dataclass(frozen=True)
class Arrival:
    """A signal.

    Attributes:
        at: during which step it comes, from 1; 0 for before the first.
        signal: its name.
        when: "step" for the middle of that step, "save" for the save after it.
    """

    at: int
    signal: str
    when: str = "step"


class Deeds(NamedTuple):
    """What an answer did, one entry after another, and what it returned."""

    done: tuple[str, ...]
    status: Any


class Script:
    """A job whose signals come when the script says so."""

    def __init__(self, steps: int, events: Sequence[Arrival]) -> None:
        self._steps, self._events = steps, list(events)
        self._now = self._calls = 0
        self._inside = False
        self._signalled: int | None = None
        self._handler: Callable[[str], object] | None = None
        self.done: list[str] = []

    def on_signal(self, handler: Callable[[str], object]) -> None:
        """Have `handler` called with a signal's name."""
        self._handler = handler
        self._deliver(0, "step")

    def finished(self) -> bool:
        """Whether all steps are done."""
        self._count()
        return self._now >= self._steps

    def step(self) -> None:
        """Do the next step; a signal comes in the middle of it."""
        self._count()
        if self._inside:
            raise RuntimeError("a step begins in the middle of a step")
        if self._now >= self._steps:
            self.done.append("a step after the last")
            return
        if self._signalled is not None and self._now - self._signalled >= GRACE:
            self.done.append("killed")
            raise TimeIsUp("time is up: the job is killed")
        self._inside = True
        self._deliver(self._now + 1, "step")
        self._inside = False
        self._now += 1

    def save(self) -> None:
        """Write a checkpoint."""
        self._count()
        where = f"in the middle of step {self._now + 1}" if self._inside else f"after {self._now}"
        self.done.append(f"save {where}")
        self._deliver(self._now, "save")

    def requeue(self) -> None:
        """Ask to be queued again."""
        self._count()
        self.done.append("requeue")

    def _deliver(self, at: int, when: str) -> None:
        due = [event for event in self._events if (event.at, event.when) == (at, when)]
        self._events = [event for event in self._events if event not in due]
        for event in due:
            self._signalled = at if self._signalled is None else self._signalled
            if self._handler is None:
                self.done.append(f"killed by {event.signal}, which nobody handles")
                raise TimeIsUp(f"{event.signal} came, and no handler was registered")
            self._handler(event.signal)

    def _count(self) -> None:
        self._calls += 1
        if self._calls > TOO_MANY:
            raise TimeIsUp("time is up: the job is killed")


def cases() -> list[Case]:
    """No signal; one in the middle, in the first and in the last step; two; during the save."""
    use, term = "USR1", "TERM"
    plans: list[tuple[str, int, list[Arrival]]] = [
        ("5 steps and no signal", 5, []),
        ("5 steps, USR1 in the 3rd", 5, [Arrival(3, use)]),
        ("5 steps, USR1 in the 1st", 5, [Arrival(1, use)]),
        ("5 steps, USR1 in the 5th", 5, [Arrival(5, use)]),
        ("9 steps, USR1 twice in the 2nd", 9, [Arrival(2, use), Arrival(2, use)]),
        ("9 steps, TERM in the 4th", 9, [Arrival(4, term)]),
        ("9 steps, USR1 and then TERM in the 4th", 9, [Arrival(4, use), Arrival(4, term)]),
        ("9 steps, TERM and then USR1 in the 4th", 9, [Arrival(4, term), Arrival(4, use)]),
        ("9 steps, USR1 in the 4th, TERM during the save", 9,
         [Arrival(4, use), Arrival(4, term, "save")]),
        ("9 steps, USR1 in the 4th and during the save", 9,
         [Arrival(4, use), Arrival(4, use, "save")]),
        ("3 steps, TERM in the 3rd", 3, [Arrival(3, term)]),
        ("all steps were done before", 0, []),
    ]  # fmt: skip
    return [Case(label, (steps, tuple(events))) for label, steps, events in plans]


def run(answer: Answer, case: Case) -> Deeds:
    """Let an answer train; what it did, and its status."""
    steps, events = case.args
    script = Script(steps, events)
    try:
        status = answer(script)
    except TimeIsUp:
        status = "killed"
    if isinstance(status, np.integer):
        status = int(status)
    return Deeds(tuple(script.done), status)


def told(done: Sequence[str]) -> str:
    """What was done, in words; what is done more than twice on end is counted, and much is cut."""
    words: list[str] = []
    for deed, same in itertools.groupby(done):
        times = len(list(same))
        words += [deed] * times if times <= 2 else [f"{deed}, {times} times"]
    return shorten(", then ".join(words), 200) if words else "nothing is saved or asked for"


def difference(got: Any, wanted: Any) -> str | None:
    """What was done first, then the status."""
    if got.done != wanted.done:
        return f"it does: {told(got.done)}; expected: {told(wanted.done)}"
    if type(got.status) is not type(wanted.status) or got.status != wanted.status:
        return f"it returns {shown(got.status)}, expected {wanted.status}"
    return None


def same_deeds(one: Any, other: Any) -> bool:
    """Whether two answers do the same and return the same."""
    return bool(one == other and type(one.status) is type(other.status))


LOOP = "while not job.finished() and not seen:\n        job.step()\n"
END = """    job.save()
    if job.finished():
        return 0
    if "TERM" in seen:
        return 143
"""

answers.edit(
    {"job.on_signal(seen.append)": "job.on_signal(lambda name: (seen.append(name), job.save()))",
     "    job.save()\n    if": "    if job.finished() and not seen:\n        job.save()\n    if"},
    "the handler saves, in the middle of a step: some of the weights are then those after the "
    "step, and some those before. Let it only note the signal; save when the step has ended.",
)  # fmt: skip
for save_at_the_end in ("    job.save()\n", ""):
    answers.edit(
        {"job.on_signal(seen.append)":
         "job.on_signal(lambda name: (seen.append(name), job.save()))",
         "    job.save()\n    if": save_at_the_end + "    if"},
        answers.wrongs[0].hint,
    )  # fmt: skip
answers.edit(
    {" and not seen": ""},
    "training goes on after the signal until the job is killed: look after each step whether one "
    "has come. (If you look at a variable that the handler is to set, the handler needs "
    "`nonlocal`, or it sets one of its own.)",
)
answers.edit(
    {"not seen": '"TERM" not in seen'},
    "in the loop only TERM counts: after USR1 training goes on until it is finished or the job is "
    "killed. Stop at either.",
)
answers.edit(
    {"not seen": '"USR1" not in seen'},
    "in the loop only USR1 counts: after TERM training goes on until it is finished or the job is "
    "killed. Stop at either.",
)
answers.edit(
    {LOOP: "while not job.finished():\n        late = bool(seen)\n        job.step()\n"
     "        if late:\n            break\n"},
    "after the signal one more step is begun: look whether one has come before each step, with "
    "what has come by then.",
)  # fmt: skip
answers.edit(
    {"not job.finished() and not seen": "not seen"},
    "the loop ends only at a signal: where none comes, it goes on after the last step. Ask "
    "`job.finished()` before each.",
)
for finished in ("", "()"):
    answers.edit(
        {
            "not job.finished()": "not job.finished",
            "if job.finished()": f"if job.finished{finished}",
        },
        "it does no step at all. `job.finished` without its brackets is the method itself, which "
        "counts as true; and a handler with brackets is called at once, before any signal.",
    )
answers.edit(
    {LOOP: "while True:\n        job.step()\n        if job.finished() or seen:\n"
     "            break\n"},
    "the first step is done before it is asked whether there is one: a job that is started when "
    "all is done makes a step too many.",
)  # fmt: skip
answers.edit(
    {"    job.on_signal(seen.append)\n": ""},
    "no handler is registered when the first step begins. A signal that nobody handles ends the "
    "program at once, with nothing saved.",
)
answers.edit(
    {"    job.requeue()\n    return 75": "    return 0"},
    "status 0 without a requeue: to Slurm the job is completed, and it never goes on.",
)
answers.edit(
    {"    job.requeue()\n": ""},
    "the status says that there is more to do, but nobody asks for a requeue: the job has failed, "
    "and does not come back.",
)
answers.edit(
    {"    if job.finished():\n        return 0\n": ""},
    "a training that is finished is queued again, or called cancelled: when all steps are done, "
    "return 0, whatever signal came.",
)
answers.edit(
    {'    if "TERM" in seen:\n        return 143\n': ""},
    "a job that somebody has cancelled comes back into the queue: on TERM save, and do not "
    'requeue. (The handler is called with "TERM", not with "SIGTERM".)',
)
answers.edit(
    {'if "TERM" in seen:\n        return 143\n    job.requeue()\n    return 75':
     'if "USR1" in seen:\n        job.requeue()\n        return 75\n    return 143'},
    "it asks for USR1 first: a job that is cancelled after a USR1 goes back into the queue. Ask "
    "for TERM first.",
)  # fmt: skip
answers.edit(
    {'    if "TERM" in seen:\n': '    job.requeue()\n    if "TERM" in seen:\n',
     "    job.requeue()\n    return 75": "    return 75"},
    "it asks for the requeue, and only then looks whether the job is cancelled: look first.",
)  # fmt: skip
answers.edit(
    {"if job.finished():": "if not seen:"},
    "where a signal came it takes training as unfinished. It may have come in the last step: then "
    "all is done. Ask `job.finished()` again, after the loop.",
)
answers.edit(
    {END: '    job.save()\n    if "TERM" in seen:\n        return 143\n'
     "    if job.finished():\n        return 0\n"},
    "a training whose TERM comes in the last step is called cancelled: ask first whether all is "
    "done.",
)  # fmt: skip
answers.edit(
    {"return 143": "return 75", "job.requeue()\n    return 75": "job.requeue()\n    return 143"},
    "the two statuses are swapped: 143 says that the job is cancelled, 75 that it is to go on.",
)
answers.edit(
    {'"TERM" in seen': 'seen[0] == "TERM"'},
    "only the first signal counts. After USR1 a TERM may still come: then the job is cancelled, "
    "and must not go back into the queue.",
)
answers.edit(
    {'"TERM" in seen': 'seen[-1] == "TERM"'},
    "only the last signal counts. A USR1 that comes after TERM does not bring a cancelled job "
    "back.",
)
answers.edit(
    {"    job.save()\n    if": "    if"},
    "nothing is saved: the next start has nothing to go on from.",
)
answers.edit(
    {"    job.save()\n    if job.finished():\n        return 0\n": "    if job.finished():\n"
     "        return 0\n    job.save()\n"},
    "a training that is finished is not saved: its last checkpoint is the result.",
)  # fmt: skip
for look_again in ("", '    if "TERM" in seen:\n        return 143\n'):
    answers.edit(
        {END: "    if job.finished():\n        job.save()\n        return 0\n"
         '    if "TERM" in seen:\n        return 143\n    job.save()\n' + look_again},
        "a training that is cancelled is not saved, and all its work since the last save is lost: "
        "save in any case.",
    )  # fmt: skip
answers.edit(
    {"    job.save()\n    if": "    if",
     "        return 0\n": "        job.save()\n        return 0\n",
     "        return 143\n": "        job.save()\n        return 143\n",
     "    job.requeue()\n": "    job.requeue()\n    job.save()\n"},
    "it asks for the requeue before it has saved. Slurm may end the job at once when it is asked: "
    "save first.",
)  # fmt: skip
answers.edit(
    {END: '    cancelled = "TERM" in seen\n' + END.replace('"TERM" in seen', "cancelled")},
    "whether the job is cancelled is looked up before the save. Saving takes long, and TERM may "
    "come meanwhile: look afterwards.",
)
answers.edit(
    {"    job.requeue()\n": "    for _ in seen:\n        job.requeue()\n"},
    "each signal asks for a requeue of its own. One request is enough, however many signals came.",
)
answers.edit(
    {"    job.requeue()\n    return 75": "    job.requeue()\n    return 0"},
    "all is done as it should be, and status 0 says that training is finished: return 75 when "
    "there is more to do.",
)
answers.edit(
    {"return 143": "return 0"},
    "a cancelled training is not finished, and status 0 says that it is: return 143.",
)
answers.edit(
    {"        job.step()\n": "        job.step()\n        job.save()\n", "    job.save()\n    if":
     "    if"},
    "it saves after each step. That costs a save for each; asked is one, at the end.",
)  # fmt: skip
answers.edit(
    {"        job.step()\n": "        job.step()\n        job.save()\n"},
    "it saves after each step, and once more at the end. That costs a save for each; asked is one, "
    "at the end.",
)
answers.edit(
    {"return 0": "raise SystemExit(0)", "return 143": "raise SystemExit(143)",
     "return 75": "raise SystemExit(75)"},
    "it ends the program itself: return the status, and let the program that calls it end.",
)  # fmt: skip


@answers.wrong(answers.wrongs[0].hint)
def saves_in_the_handler_alone(job: Any) -> Any:
    job.on_signal(lambda name: job.save())
    while not job.finished():
        job.step()
    return 0


@answers.wrong(
    "the handler asks for the requeue, before anything is saved. Slurm may end the job at once "
    "when it is asked: save first.",
)
def requeue_in_the_handler(job: Any) -> Any:
    seen: list[str] = []

    def handler(name: str) -> None:
        if name == "USR1" and not seen:
            job.requeue()
        seen.append(name)

    job.on_signal(handler)
    while not job.finished() and not seen:
        job.step()
    job.save()
    return 0 if job.finished() else 143 if "TERM" in seen else 75


answers.edit(
    {'name == "USR1" and not seen': 'name == "USR1"'},
    answers.wrongs[-1].hint,
    of=requeue_in_the_handler,
)


@answers.wrong(
    "the handler ends the step by raising an exception, and what is saved then is a step that is "
    "half done. Let it only note the signal.",
)
def stop_by_exception(job: Any) -> Any:
    def handler(name: str) -> None:
        raise KeyboardInterrupt(name)

    job.on_signal(handler)
    try:
        while not job.finished():
            job.step()
    except KeyboardInterrupt as signal:
        job.save()
        if str(signal) == "TERM":
            return 143
        job.requeue()
        return 75
    job.save()
    return 0


@answers.wrong(
    "it requeues whenever it ends, even when all is done: then it never leaves the queue."
)
def always_requeue(job: Any) -> Any:
    seen: list[str] = []
    job.on_signal(seen.append)
    while not job.finished() and not seen:
        job.step()
    job.save()
    if "TERM" in seen:
        return 143
    job.requeue()
    return 0 if job.finished() else 75


@answers.right
def with_a_dictionary(job: Any) -> Any:
    came = {"USR1": False, "TERM": False}

    def handler(name: str) -> None:
        came[name] = True

    job.on_signal(handler)
    while not (job.finished() or any(came.values())):
        job.step()
    job.save()
    status = 0 if job.finished() else 143 if came["TERM"] else 75
    if status == 75:
        job.requeue()
    return status


@answers.right
def with_a_break(job: Any) -> Any:
    stop = cancelled = False

    def handler(name: str) -> None:
        nonlocal stop, cancelled
        stop = True
        cancelled = cancelled or name == "TERM"

    job.on_signal(handler)
    while not job.finished():
        job.step()
        if stop:
            break
    job.save()
    if not job.finished() and not cancelled:
        job.requeue()
        return np.int64(75)
    return 0 if job.finished() else 143


EXERCISE = Exercise(
    task="Train until the end or a signal: finish the step, save, and ask to be queued again.",
    reference=drain_and_requeue,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(same_deeds,),
    by_hand=False,
)

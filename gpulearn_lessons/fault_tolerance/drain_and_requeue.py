"""A training loop that a queue's signals end, judged by scripted events without a queue."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shorten, shown
from gpulearn_lessons.fault_tolerance.drain import drain_and_requeue

GRACE = 3  # steps after a signal, until the job is killed
TOO_MANY = 200  # calls: the loop never ends


class TimeIsUp(BaseException):
    """Time is up."""


@dataclass(frozen=True)
class Arrival:
    """A signal."""

    at: int  # the step during which it comes, from 1; 0 is before the first
    signal: str  # its name
    when: str = "step"  # "step" for the middle of that step, "save" for the save after it


class JobOutcome(NamedTuple):
    """What an answer did, in order, and what it returned."""

    done: tuple[str, ...]
    status: Any


class Script:
    """A job whose signals come at scripted moments."""

    def __init__(self, steps: int, events: Sequence[Arrival]) -> None:
        self._steps, self._events = steps, list(events)
        self._now = self._calls = 0
        self._inside = False
        self._signalled: int | None = None
        self._handler: Callable[[str], object] | None = None
        self.done: list[str] = []

    def on_signal(self, handler: Callable[[str], object]) -> None:
        self._handler = handler
        try:
            self._deliver(0, "step")
        except KeyboardInterrupt:  # the handler's own; it would end the check
            raise TimeIsUp from None

    def finished(self) -> bool:
        self._count()
        return self._now >= self._steps

    def step(self) -> None:
        """Take the next step; a signal comes in the middle of it."""
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
        self._count()
        where = f"in the middle of step {self._now + 1}" if self._inside else f"after {self._now}"
        self.done.append(f"save {where}")
        self._deliver(self._now, "save")

    def requeue(self) -> None:
        self._count()
        self.done.append("requeue")

    def _deliver(self, at: int, when: str) -> None:
        due = [event for event in self._events if (event.at, event.when) == (at, when)]
        self._events = [event for event in self._events if event not in due]
        for event in due:
            self._signalled = at if self._signalled is None else self._signalled
            if self._handler is None:
                self.done.append(f"killed by {event.signal}, which has no handler")
                raise TimeIsUp(f"{event.signal} came, and no handler was registered")
            self._handler(event.signal)

    def _count(self) -> None:
        self._calls += 1
        if self._calls > TOO_MANY:
            raise TimeIsUp("time is up: the job is killed")


def cases() -> list[Case]:
    """No signal; one before and in the first, in the middle, in the last step; two; in the save."""
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
        ("5 steps, USR1 before the 1st", 5, [Arrival(0, use)]),
    ]  # fmt: skip
    return [Case(label, (steps, tuple(events))) for label, steps, events in plans]


def run(answer: Answer, case: Case) -> JobOutcome:
    """Let an answer train; returns what it did, and its status."""
    steps, events = case.args
    script = Script(steps, events)
    try:
        status = answer(script)
    except TimeIsUp:
        status = "killed"
    if isinstance(status, np.integer):
        status = int(status)
    return JobOutcome(tuple(script.done), status)


def in_words(done: Sequence[str]) -> str:
    """What was done, in words; repetitions are counted, and long lists are cut."""
    words: list[str] = []
    for deed, same in itertools.groupby(done):
        times = len(list(same))
        words += [deed] * times if times <= 2 else [f"{deed}, {times} times"]
    return shorten(", then ".join(words), 200) if words else "it saves nothing and asks for nothing"


def difference(got: Any, want: Any) -> str | None:
    if got.done != want.done:
        return f"what it does: {in_words(got.done)}; expected: {in_words(want.done)}"
    if type(got.status) is not type(want.status) or got.status != want.status:
        return f"it returns {shown(got.status)}, expected {want.status}"
    return None


def same_deeds(one: Any, other: Any) -> bool:
    return bool(one == other and type(one.status) is type(other.status))


EXERCISE = Exercise(
    task="Train until the end or a signal: finish the step, save, and ask to be queued again.",
    reference=drain_and_requeue,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(same_deeds,),
    by_hand=False,
)

"""Ways to try an answer that runs in a process of its own: called, or tried there."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.errors import KernelError
from gpulearn.judge.catalogue import find
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.launches import Launch
from gpulearn.judge.limits import time_limit
from gpulearn.judge.trial import Failure, tried
from gpulearn.require import shorten
from gpulearn_grading.apart.box import Box
from gpulearn_grading.apart.limits import Limits
from gpulearn_grading.apart.values import NotData, decoded, encoded
from simt.cpp.module import CppKernel, CppModule
from simt.cpp.source import CppSource

MAX_PTX = 1 << 20  # bytes; to read it takes some 100 times as much memory


@functools.cache
def way(place: str) -> str:
    """How answers to an exercise are tried.

    "text": by the judge. "calls": called by the judge, case by case. "outcomes": tried in their own
    process, where an answer that takes the trial over can report what it did not do. What the
    solution is given and returns decides.

    Raises:
        NotData: what comes out of a trial is not even data, and nobody can judge it from outside.
    """
    exercise = find(place)
    cases = exercise.cases()
    if isinstance(cases[0], Launch):
        return "text"
    if exercise.kernel:  # its host part is a program
        return "outcomes"

    @functools.wraps(exercise.reference)
    def through(*args: Any, **options: Any) -> Any:
        given, options = decoded(encoded(args)), decoded(encoded(options))
        result = exercise.reference(*given, **options)
        for old, new in zip(args, given, strict=True):
            _write_back(old, new)
        return decoded(encoded(result, given), args)

    def elsewhere(*work: Any) -> Any:
        raise NotData("a step of its demand")

    def is_right(case: Case, outcome: Any) -> bool:
        failed = isinstance(outcome, Failure)
        return not failed and not exercise.difference(outcome, exercise.expected(case))

    vars(through)["elsewhere"] = elsewhere
    with contextlib.suppress(NotData):
        apart = dataclasses.replace(exercise, reference=through)  # it is the answer here
        ready = exercise.ready(through)
        outcomes = [tried(apart, ready, case) for case in cases]
        if all(map(is_right, cases, outcomes)) and exercise.demand(ready, outcomes) is None:
            return "calls"
    ready = exercise.ready(exercise.reference)
    outcomes = [
        decoded(encoded(tried(exercise, ready, case), case.args), case.args) for case in cases
    ]
    if all(map(is_right, cases, outcomes)):
        return "outcomes"
    raise NotData(f"{exercise.name} cannot be judged apart: its outcomes are no plain data.")


@functools.cache
def by_outcomes(place: str) -> Exercise:
    """An exercise whose trials of a proxy run in the process of the answer that it stands for."""
    exercise = find(place)
    numbers = {case.label: number for number, case in enumerate(exercise.cases())}

    def run(answer: Any, case: Case) -> Any:
        if not hasattr(answer, "opened"):
            return exercise.run(answer, case)
        reply = answer.opened().ask("try", case=numbers[case.label])
        return decoded(reply.get("result"), case.args)

    def ready(answer: Any) -> Any:
        return answer if hasattr(answer, "opened") else exercise.ready(answer)

    return dataclasses.replace(exercise, run=run, ready=ready, expect=exercise.expected)


def proxy(exercise: Exercise, shape: Any, opened: Callable[[], Box]) -> Callable[..., Any]:
    """What stands for an answer that runs elsewhere; it looks like the answer."""

    def answer(*args: Any, **options: Any) -> Any:
        reply = opened().ask("call", args=encoded(args), options=encoded(options))
        if reply.get("borrowed"):
            raise Violation(f"it calls the library's {exercise.name}: write it yourself")
        if "large" in reply:
            raise Violation("it returns more than 64 MiB")
        for number, new in dict(reply.get("changed", {})).items():
            _write_back(args[int(number)], decoded(new))
        if "raised" in reply:
            kind, message, line = reply["raised"]
            error = _exception(str(kind), str(message))
            code = getattr(shape, "__code__", None)
            if code and int(line) in {
                n - code.co_firstlineno + 1 for *_, n in code.co_lines() if n
            }:
                vars(error)["line_of_answer"] = line
            raise error
        return decoded(reply["result"], args)

    answer.__name__ = answer.__qualname__ = exercise.name
    if shape is not None:
        functools.update_wrapper(answer, shape)
    vars(answer).update(opened=opened, elsewhere=_elsewhere(opened))
    return answer


class CompiledElsewhere(CppSource):
    """An answer in CUDA C++, compiled in its own process: what comes back is a text as well."""

    def __init__(
        self, exercise: Exercise, text: str, opened: Callable[[], Box], limits: Limits
    ) -> None:
        super().__init__(exercise.name, text, exercise.kernel)
        # as long as a demand has: where a core is busy, nobody counts what a compiler waits
        self._seconds = 3 * limits.seconds
        self.opened, self.elsewhere = opened, time_limit(self._seconds)(_elsewhere(opened))

    @functools.cached_property
    def compiled(self) -> CppKernel:
        """The kernel, made of the PTX that the process sends."""
        with time_limit(self._seconds):
            reply = self.opened().ask("compile", text=self.text)
        if "refused" in reply:
            raise KernelError(shorten(str(reply["refused"]), 4000))
        ptx = str(reply.get("ptx", ""))
        if len(ptx) > MAX_PTX or "large" in reply:
            raise KernelError(f"what the compiler makes of it is larger than {MAX_PTX >> 20} MiB")
        return CppModule(self.text, ptx=ptx)[self.kernel]


def _elsewhere(opened: Callable[[], Box]) -> Callable[..., Any]:
    """Takes steps of a demand in the process of an answer; what comes back is data."""

    def taken(*work: Any) -> Any:
        step, *args = work
        return decoded(opened().ask("step", step=step, args=args).get("result"))

    return taken


def _write_back(old: Any, new: Any) -> None:
    """Let an argument be what the answer has made of it."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and old.shape == new.shape:
        old[...] = new
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif any(isinstance(old, kind) and isinstance(new, kind) for kind in (dict, set)):
        old.clear()
        old.update(new)
    elif hasattr(old, "copy_") and type(new) is type(old):
        old.copy_(new)


def _exception(kind: str, message: str) -> BaseException:
    """An exception of that class name; those that would stop the judge are others of that name."""
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception | SystemExit):
        with contextlib.suppress(Exception):
            error = known(message)
            if str(error) == message:
                return error
    name = kind if kind.isidentifier() else "Exception"
    exception: BaseException = type(name, (Exception,), {"__str__": lambda self: message})()
    return exception

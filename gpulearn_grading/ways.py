"""Ways to try an answer that runs in a process of its own: called, tried, or judged there."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpulearn.errors import KernelError, WrongAnswer
from gpulearn.judge.catalogue import find
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.launches import Launch
from gpulearn.judge.trial import Failure, tried
from gpulearn.require import shorten
from gpulearn_grading.apart.box import Box
from gpulearn_grading.apart.values import NotData, decoded, encoded
from simt.cpp.module import CppKernel, CppModule
from simt.cpp.source import CppSource

MAX_PTX = 1 << 20  # bytes; to read it takes some 100 times as much memory


@functools.cache
def way(place: str) -> str:
    """How answers to an exercise are tried.

    "text": by the judge. "calls": called by the judge, case by case. "outcomes": tried in their own
    process, compared by the judge. "there": judged in their own process. What the solution is
    given and returns decides.
    """
    exercise = find(place)
    cases = exercise.cases()
    if isinstance(cases[0], Launch):
        return "text"
    if exercise.kernel:  # its host part is a program
        return "outcomes"

    @functools.wraps(exercise.reference)
    def through(*args: Any, **options: Any) -> Any:
        args, options = decoded(encoded(args)), decoded(encoded(options))
        return decoded(encoded(exercise.reference(*args, **options)))

    for word, answer in (("calls", through), ("outcomes", exercise.reference)):
        # a demand may call the answer in ways of its own, or look at how it runs
        if word == "calls" and (not exercise.by_hand or exercise.demand is not Exercise.demand):
            continue
        apart = dataclasses.replace(exercise, reference=through)  # it is the answer here
        ready = exercise.ready(answer)
        try:
            outcomes = [decoded(encoded(tried(apart, ready, case))) for case in cases]
        except NotData:
            continue
        if all(
            not isinstance(got, Failure) and not exercise.difference(got, exercise.expected(case))
            for got, case in zip(outcomes, cases, strict=True)
        ):
            return word
    return "there"


def proxy(exercise: Exercise, shape: Any, opened: Callable[[], Box]) -> Callable[..., Any]:
    """What stands for an answer that runs elsewhere; it looks like the answer."""

    def answer(*args: Any, **options: Any) -> Any:
        return _called(opened(), exercise, shape, args, options)

    answer.__name__ = answer.__qualname__ = exercise.name
    if shape is not None:
        functools.update_wrapper(answer, shape)
    vars(answer)["opened"] = opened
    return answer


class CompiledElsewhere(CppSource):
    """An answer in CUDA C++, compiled in its own process: what comes back is a text as well."""

    def __init__(self, exercise: Exercise, text: str, opened: Callable[[], Box]) -> None:
        super().__init__(exercise.name, text, exercise.kernel)
        self.opened = opened

    @functools.cached_property
    def compiled(self) -> CppKernel:
        """The kernel, made of the PTX that the process sends."""
        reply = self.opened().ask("compile")
        if "refused" in reply:
            raise KernelError(shorten(str(reply["refused"]), 4000))
        ptx = str(reply.get("ptx", ""))
        if len(ptx) > MAX_PTX or "large" in reply:
            raise KernelError(f"what the compiler makes of it is larger than {MAX_PTX >> 20} MiB")
        return CppModule(self.text, ptx=ptx)[self.kernel]


@functools.cache
def by_outcomes(place: str) -> Exercise:
    """An exercise whose trials of a proxy run in the process of the answer that it stands for."""
    exercise = find(place)
    numbers = {case.label: number for number, case in enumerate(exercise.cases())}

    def run(answer: Any, case: Case) -> Any:
        if not hasattr(answer, "opened"):
            return exercise.run(answer, case)
        reply = answer.opened().ask("try", case=numbers[case.label])
        return decoded(str(reply.get("result")).encode())

    def demand(answer: Any, outcomes: Sequence[Any]) -> str | None:
        fault = answer.opened().ask("demand").get("said")
        return None if fault is None else shorten(str(fault), 2000)

    def ready(answer: Any) -> Any:
        return answer if hasattr(answer, "opened") else exercise.ready(answer)

    return dataclasses.replace(
        exercise, run=run, demand=demand, ready=ready, expect=exercise.expected
    )


def judged_there(box: Box, exercise: Exercise, seconds: float) -> int:
    """How many cases are right, as the answer's own process says."""
    fault = box.ask("examine", seconds=seconds).get("said")
    if fault is not None:
        raise WrongAnswer(f"{exercise.name}: {shorten(str(fault[0]), 2000)}")
    return len(exercise.cases())


def _called(
    box: Box, exercise: Exercise, shape: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call an answer in its process; its result, or its exception."""
    reply = box.ask("call", args=encoded(args).decode(), options=encoded(options).decode())
    if reply.get("borrowed"):
        raise Violation(f"it calls the library's {exercise.name}: write it yourself")
    if "large" in reply:
        raise Violation("it returns more than 64 MiB")
    for number, new in dict(reply.get("changed", {})).items():
        _write_back(args[int(number)], decoded(str(new).encode()))
    if "raised" in reply:
        kind, message, line = reply["raised"]
        _raise_in(shape, _exception(str(kind), str(message)), int(line))
    if (same := reply.get("same")) is not None:
        return args[int(same)]
    return decoded(str(reply["result"]).encode())


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
    plain = isinstance(known, type) and issubclass(known, Exception)
    if plain or kind == "SystemExit":
        with contextlib.suppress(Exception):
            error: BaseException = known(message)  # type: ignore[misc]
            if str(error) == message:
                return error
    name = kind if kind.isidentifier() else "Exception"
    exception: BaseException = type(name, (Exception,), {"__str__": lambda self: message})()
    return exception


def _raise_in(shape: Any, error: BaseException, line: int) -> None:
    """Raise, so that the traceback shows the answer's own line."""
    if shape is None or line < 1:
        raise error
    code = shape.__code__
    name, number = code.co_name, code.co_firstlineno + line - 1
    safe = name if name.isidentifier() else "answer"
    text = "\n" * (number - 1) + f"def {safe}(error): raise error"
    space: dict[str, Any] = {}
    exec(compile(text, code.co_filename, "exec"), space)
    function = space[safe]
    function.__code__ = function.__code__.replace(co_name=name)
    function(error)

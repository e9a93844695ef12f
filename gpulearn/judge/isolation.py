"""What an answer may do to its surroundings: shared state, output, the solution."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

from __future__ import annotations

import contextlib
import io
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

import simt

__all__ = ["Printed", "borrowing", "layers", "told_of_calls", "undisturbed"]

MOST_CHARACTERS = 4000  # printed, of one case

Tell = Callable[[FrameType], None]

_lock = threading.Lock()
# what has other code now → its own, and who is told of calls in which thread
_listeners: dict[FunctionType, tuple[CodeType, list[tuple[int, Tell]]]] = {}


@contextmanager
def undisturbed() -> Iterator[None]:
    """Undo what the block does to shared settings and random numbers.

    An answer that switches torch's gradients off, say, would otherwise falsify all that is
    tried after it, and the learner's notebook too.

    >>> with undisturbed():
    ...     _ = np.seterr(all="raise")
    >>> np.geterr()["divide"]
    'warn'
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        with np.errstate(), _torch_undisturbed():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _torch_undisturbed() -> Iterator[None]:
    """The same for torch, where it is loaded."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    numbers, threads = torch.get_rng_state(), torch.get_num_threads()
    dtype, gradients = torch.get_default_dtype(), torch.is_grad_enabled()
    strict = torch.get_deterministic_debug_mode()
    try:
        yield
    finally:
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        if torch.get_deterministic_debug_mode() != strict:  # to set it loads the compiler
            torch.set_deterministic_debug_mode(strict)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


class _Short(io.StringIO):
    """Keeps the beginning of what is written."""

    def write(self, text: str) -> int:
        """Write text, as long as there is room."""
        room = MOST_CHARACTERS - self.tell()
        if room > 0:
            super().write(text[:room] + "…\n" * (len(text) > room))
        return len(text)


class Printed:
    """What came to standard output, by case.

    A check runs an answer on many cases, and on several ranks each: were all prints shown,
    those that matter would not be found.

    >>> printed = Printed()
    >>> with printed.during("a vector"):
    ...     print("here")
    >>> printed.show("a vector")
    For a vector, your function prints:
    here
    """

    def __init__(self) -> None:
        self._texts: dict[str, _Short] = {}

    @contextlib.contextmanager
    def during(self, label: str) -> Iterator[None]:
        """Keep what is printed, under the case's label."""
        with contextlib.redirect_stdout(self._texts.setdefault(label, _Short())):
            yield

    def show(self, label: str) -> None:
        """Print what was kept, if anything was."""
        text = self._texts[label].getvalue() if label in self._texts else ""
        if text:
            print(f"For {label}, your function prints:", text.rstrip("\n"), sep="\n")


@contextmanager
def borrowing(solution: Callable[..., Any]) -> Iterator[list[str]]:
    """Notes, while the block runs, from which files outside of the library a solution is called.

    What the library itself calls does not count: an answer may use its other parts. The files
    are there once the block has ended.
    """
    callers: list[str] = []
    library = (*simt.internal.values(),)
    found = layers(solution)
    wrappers, own = [one.__code__ for one in found[:-1]], found[-1:]

    def note(frame: FrameType) -> None:
        caller = frame.f_back
        while caller is not None and caller.f_code in wrappers:
            caller = caller.f_back
        if caller is not None and not caller.f_code.co_filename.startswith(library):
            callers.append(caller.f_code.co_filename)

    with told_of_calls(own, note):
        yield callers


@contextmanager
def told_of_calls(functions: Sequence[FunctionType], tell: Tell) -> Iterator[None]:
    """Call `tell` with the frame of each call of the functions that this thread makes meanwhile.

    A profiler is told of every call in the block, which makes it a tenth slower or more. Here the
    functions themselves tell: meanwhile they have other code, from which their own is called.
    """
    listener = threading.get_ident(), tell
    try:
        with _lock:
            for function in functions:
                if function not in _listeners:
                    _listeners[function] = function.__code__, []
                    function.__code__ = _code_that_tells(function)
                _listeners[function][1].append(listener)
        yield
    finally:  # also of what an interrupt left half done
        with _lock:
            for function in filter(_listeners.__contains__, functions):
                code, told = _listeners[function]
                told[:] = [one for one in told if one is not listener]
                if not told:
                    function.__code__ = code
                    del _listeners[function]


def _stand_in(*args: Any, **options: Any) -> Any:
    call: Any = "a constant, in whose place comes what is called"
    return call(*args, **options)


def _code_that_tells(function: FunctionType) -> CodeType:
    code, told = _listeners[function]
    own = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    own.__kwdefaults__ = function.__kwdefaults__

    def call(*args: Any, **options: Any) -> Any:
        for thread, tell in tuple(told):
            if thread == threading.get_ident():
                tell(sys._getframe(1))
        return own(*args, **options)

    made = _stand_in.__code__
    return made.replace(
        co_consts=tuple(call if isinstance(one, str) else one for one in made.co_consts),
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_freevars=code.co_freevars,  # as many as the function has values for
    )


def layers(function: Any) -> list[FunctionType]:
    """A function and those that it wraps, the innermost last; none if it is no Python function."""
    found: list[FunctionType] = []
    while isinstance(function, FunctionType):
        found.append(function)
        function = getattr(function, "__wrapped__", None)
    return found

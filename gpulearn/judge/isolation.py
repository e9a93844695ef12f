"""What an answer may do to its surroundings: shared state, output, the solution."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

import io
import random
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

import simt

MAX_CHARACTERS = 4000  # printed, of one case


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


class Printout(io.StringIO):
    """The beginning of what comes to standard output in one case.

    A check runs an answer on many cases, and on several ranks each: were all prints shown,
    those that matter would not be found.
    """

    def write(self, text: str) -> int:
        """Write text, as long as there is room."""
        room = MAX_CHARACTERS - self.tell()
        if room > 0:
            super().write(text[:room] + "…\n" * (len(text) > room))
        return len(text)

    def show(self, label: str) -> None:
        """Print what was kept, if anything was, under the case's label."""
        if text := self.getvalue():
            print(f"For {label}, your function prints:", text.rstrip("\n"), sep="\n")


@contextmanager
def borrowing(solution: Callable[..., Any]) -> Iterator[list[str]]:
    """Notes, while the block runs, from which files outside of the library a solution is called.

    What the library itself calls does not count: an answer may use its other parts.
    """
    callers: list[str] = []
    library = (*simt.internal.values(),)
    codes = [function.__code__ for function in layers(solution)]
    wrappers, own = codes[:-1], codes[-1:]

    def note(frame: FrameType) -> None:
        caller = frame.f_back
        while caller is not None and caller.f_code in wrappers:
            caller = caller.f_back
        if caller is not None and not caller.f_code.co_filename.startswith(library):
            callers.append(caller.f_code.co_filename)

    with told_of_calls(own, note):
        yield callers


@contextmanager
def told_of_calls(codes: Collection[CodeType], tell: Callable[[FrameType], None]) -> Iterator[None]:
    """Call `tell` with the frame of each call of functions with such code in this thread."""
    ids = {id(code) for code in codes}  # equal code may be another function's
    before: Any = sys.getprofile()
    outer = before if isinstance(before, FunctionType) else None

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and id(frame.f_code) in ids:
            tell(frame)
        if outer:
            outer(frame, event, argument)

    if ids:
        sys.setprofile(look)
    try:
        yield
    finally:
        if hasattr(before, "enable"):  # cProfile, for which Python has another way
            before.enable()
        elif ids:
            sys.setprofile(before)


def layers(function: Any) -> list[FunctionType]:
    """A function and those that it wraps, the innermost last; none if it is no Python function."""
    result: list[FunctionType] = []
    while isinstance(function, FunctionType):
        result.append(function)
        function = getattr(function, "__wrapped__", None)
    return result

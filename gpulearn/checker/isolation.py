"""What an answer may do to its surroundings: shared state, time, memory, output, the solution."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

from __future__ import annotations

import _thread
import contextlib
import cProfile
import functools
import io
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import gpulearn
from gpulearn.device.selection import data_bytes, waited_seconds

__all__ = ["Printed", "borrowing", "time_limit", "undisturbed", "waiting_elsewhere"]

AGAIN_SECONDS = 1.0  # code that swallows one interrupt is interrupted again
LOOK_SECONDS = 0.1  # between two looks at the memory
MOST_BYTES = 4 << 30  # that a block may take; beyond, a small machine ends the whole process

MOST_CHARACTERS = 4000  # printed, of one case

# how long what works for an answer in other processes has waited for a core, one for each
waiting_elsewhere: list[Callable[[], float]] = []

LIBRARY = str(Path(gpulearn.__file__).parent)

# from Python 3.12 on; there a second profiler in a process is an error
MONITORING: Any = getattr(sys, "monitoring", None)


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


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` and raise TimeoutError.

    A block that takes far more memory than anybody needs gets a MemoryError where the system
    can refuse it (Linux); elsewhere it is interrupted too, and the error says so.
    What it waits for a core that others use does not count, where the system tells (Linux): no
    answer is wrong because the computer is busy. It works as Kernel → Interrupt does, and only
    in the main thread; elsewhere there is no limit. A KeyboardInterrupt from a person goes
    through. Where no thread can be started, only the block's own lines are held to the time.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not _threads_start():
        with _limit_by_lines(seconds):
            yield
        return
    with _memory_held() as held:
        limit = _Limit(seconds, interrupter(), sys.maxsize if held else MOST_BYTES)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        limit.start()
        try:
            try:
                yield
            finally:
                limit.stop()
        except KeyboardInterrupt:
            if not limit.expired:
                raise
        finally:
            signal.signal(signal.SIGINT, before)
    if limit.expired:
        raise TimeoutError(limit.said)


@functools.cache
def _threads_start() -> bool:
    """Whether this Python can start a thread; that of a browser tab cannot."""
    thread = threading.Thread(target=bool)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


@contextmanager
def _limit_by_lines(seconds: float) -> Iterator[None]:
    """Interrupt the block at the first line outside of the library that begins too late."""
    if sys.gettrace() is not None:  # somebody looks at the lines already
        yield
        return
    end, expired = time.monotonic() + seconds, False

    def look(frame: Any, event: str, argument: Any) -> Any:
        nonlocal expired
        if time.monotonic() > end:
            expired = True
            raise KeyboardInterrupt
        return look

    def enter(frame: Any, event: str, argument: Any) -> Any:
        return None if frame.f_code.co_filename.startswith(LIBRARY) else look

    sys.settrace(enter)
    try:
        yield
    except KeyboardInterrupt:
        if not expired:
            raise
    finally:
        sys.settrace(None)
    if expired:
        raise TimeoutError


def interrupter(platform: str = sys.platform) -> Callable[[], None]:
    """What interrupts the main thread: a signal that also ends a sleep, or the next best."""
    if platform == "win32":
        return _thread.interrupt_main
    main = threading.main_thread().ident
    assert main is not None
    return lambda: signal.pthread_kill(main, signal.SIGINT)


@contextmanager
def _memory_held() -> Iterator[bool]:
    """Let the system refuse the block more than MOST_BYTES; False where it cannot.

    A thread that looks on comes too late: one line can double a list for seconds and let no other
    thread run meanwhile.
    """
    data = data_bytes()
    if not data:
        yield False
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = min((n for n in (soft, hard) if n != resource.RLIM_INFINITY), default=sys.maxsize)
    resource.setrlimit(resource.RLIMIT_DATA, (min(data + MOST_BYTES, most), hard))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def peak_bytes() -> int:
    """The most memory that this process has had at any time, in bytes; 0 where nobody knows."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


class _Limit:
    """A clock in a thread of its own that interrupts until it is stopped."""

    def __init__(self, seconds: float, interrupt: Callable[[], None], most_bytes: int) -> None:
        self.expired = False
        self.said = ""
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._of = threading.get_native_id()
        arguments = seconds, peak_bytes() + most_bytes
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)

    def _clock(self) -> float:
        elsewhere = sum(waited() for waited in tuple(waiting_elsewhere))
        return time.monotonic() - waited_seconds(self._of) - elsewhere

    def start(self) -> None:
        self._thread.start()

    def _run(self, seconds: float, most: int) -> None:
        end = self._clock() + seconds
        while not self._stopped.wait(min(LOOK_SECONDS, max(0.0, end - self._clock()))):
            greedy = peak_bytes() > most
            if self._clock() < end and not greedy:
                continue
            with self._lock:  # so that no interrupt is sent once the block has ended
                if self._stopped.is_set():
                    return
                if greedy and not self.expired:
                    self.said = f"it takes more than {MOST_BYTES / (1 << 30):g} GiB of memory"
                self.expired = True
                self._interrupt()
            end, most = self._clock() + AGAIN_SECONDS, sys.maxsize

    def stop(self) -> None:
        """Send no interrupt any more, also where one comes while this begins."""
        while not self._stopped.is_set():
            try:
                with self._lock:
                    self._stopped.set()
            except KeyboardInterrupt:
                if not self.expired:  # a person's
                    self._stopped.set()
                    raise


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
    codes = _codes(solution)
    if codes and MONITORING is not None:
        with _told_of_calls(codes, callers):
            yield callers
    elif codes and sys.getprofile() is None:  # else somebody measures the check itself
        with _profiled(codes, callers):
            yield callers
    else:
        yield callers


@contextmanager
def _profiled(codes: list[CodeType], callers: list[str]) -> Iterator[None]:
    """The calls as a profiler sees them, one in C: an answer calls many functions."""
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        callers += [
            caller.code.co_filename
            for caller in profile.getstats()
            if isinstance(caller.code, CodeType)
            and not _among(caller.code, codes)
            and not caller.code.co_filename.startswith(LIBRARY)
            and any(_among(called.code, codes) for called in caller.calls or ())
        ]


@contextmanager
def _told_of_calls(codes: list[CodeType], callers: list[str]) -> Iterator[None]:
    """The calls as Python tells of them, for this function alone, whoever profiles meanwhile."""
    tool = next((one for one in (3, 4) if MONITORING.get_tool(one) is None), None)
    if tool is None:  # others have taken both that Python leaves to anybody
        yield
        return

    def note(code: CodeType, place: int) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _among(frame.f_code, codes):
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(LIBRARY):
            callers.append(frame.f_code.co_filename)

    start = MONITORING.events.PY_START
    MONITORING.use_tool_id(tool, "gpulearn")
    MONITORING.register_callback(tool, start, note)
    MONITORING.set_local_events(tool, codes[-1], start)
    try:
        yield
    finally:
        MONITORING.set_local_events(tool, codes[-1], 0)
        MONITORING.register_callback(tool, start, None)
        MONITORING.free_tool_id(tool)


def _among(code: Any, codes: list[CodeType]) -> bool:
    """Whether it is one of these itself: equal code may be another function's."""
    return any(code is one for one in codes)


def _codes(function: Callable[..., Any] | None) -> list[CodeType]:
    """The code of a function and of those that it wraps, the innermost last.

    What a decorator puts around functions shares one code, by which a profiler knows them: this
    function's wrappers get a copy of their own.
    """
    found: list[CodeType] = []
    while function is not None and isinstance(
        code := getattr(function, "__code__", None), CodeType
    ):
        inside = getattr(function, "__wrapped__", None)
        if inside is not None:
            code = function.__code__ = code.replace()
        found.append(code)
        function = inside
    return found

"""What an answer may take: time and memory."""

import _thread
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import simt
from simt.device.selection import data_bytes, waited_seconds

AGAIN_SECONDS = 1.0  # code that swallows one interrupt is interrupted again
LOOK_SECONDS = 0.1  # between two looks at the memory
MAX_BYTES = 4 << 30  # that a block may take; beyond, a small machine ends the whole process

# how long what works for an answer in other processes has waited for a core, one for each
waiting_elsewhere: list[Callable[[], float]] = []


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
        limit = _Limit(seconds, interrupter(), sys.maxsize if held else MAX_BYTES)
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
        raise TimeoutError(limit.message)


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
    library = (*simt.internal.values(),)

    def look(frame: Any, event: str, argument: Any) -> Any:
        nonlocal expired
        if time.monotonic() > end:
            expired = True
            raise KeyboardInterrupt
        return look

    def enter(frame: Any, event: str, argument: Any) -> Any:
        return None if frame.f_code.co_filename.startswith(library) else look

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
    """Let the system refuse the block more than MAX_BYTES; False where it cannot.

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
    resource.setrlimit(resource.RLIMIT_DATA, (min(data + MAX_BYTES, most), hard))
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
        self.message = ""
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
                    self.message = f"it takes more than {MAX_BYTES / (1 << 30):g} GiB of memory"
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

"""A time limit on code that somebody else wrote."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["time_limit"]

AGAIN_SECONDS = 1.0  # code that swallows one interrupt is interrupted again
LOOK_SECONDS = 0.1  # between two looks at the memory
MOST_BYTES = 4 << 30  # that a block may take; beyond, a small machine ends the whole process


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` and raise TimeoutError.

    So it does where the block takes far more memory than anybody needs; the error says so then.
    It works as Kernel → Interrupt does, and only in the main thread; elsewhere there is no
    limit. A KeyboardInterrupt from a person goes through.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = _Limit(seconds, interrupter())
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


def interrupter(platform: str = sys.platform) -> Callable[[], None]:
    """What interrupts the main thread: a signal that also ends a sleep, or the next best."""
    if platform == "win32":
        return _thread.interrupt_main
    main = threading.main_thread().ident
    assert main is not None
    return lambda: signal.pthread_kill(main, signal.SIGINT)


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

    def __init__(self, seconds: float, interrupt: Callable[[], None]) -> None:
        self.expired = False
        self.said = ""
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(seconds,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self, seconds: float) -> None:
        end, most = time.monotonic() + seconds, peak_bytes() + MOST_BYTES
        while not self._stopped.wait(min(LOOK_SECONDS, max(0.0, end - time.monotonic()))):
            greedy = peak_bytes() > most
            if time.monotonic() < end and not greedy:
                continue
            with self._lock:  # so that no interrupt is sent once the block has ended
                if self._stopped.is_set():
                    return
                if greedy and not self.expired:
                    self.said = f"it takes more than {MOST_BYTES >> 30} GiB of memory"
                self.expired = True
                self._interrupt()
            end, most = time.monotonic() + AGAIN_SECONDS, sys.maxsize

    def stop(self) -> None:
        with self._lock:
            self._stopped.set()

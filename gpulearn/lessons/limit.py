"""A time limit on code that somebody else wrote."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["time_limit"]

AGAIN_SECONDS = 1.0  # code that swallows one interrupt is interrupted again


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` and raise TimeoutError.

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
        raise TimeoutError


def interrupter(platform: str = sys.platform) -> Callable[[], None]:
    """What interrupts the main thread: a signal that also ends a sleep, or the next best."""
    if platform == "win32":
        return _thread.interrupt_main
    main = threading.main_thread().ident
    assert main is not None
    return lambda: signal.pthread_kill(main, signal.SIGINT)


class _Limit:
    """A clock in a thread of its own that interrupts until it is stopped."""

    def __init__(self, seconds: float, interrupt: Callable[[], None]) -> None:
        self.expired = False
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(seconds,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self, seconds: float) -> None:
        pause = seconds
        while not self._stopped.wait(pause):
            with self._lock:  # so that no interrupt is sent once the block has ended
                if self._stopped.is_set():
                    return
                self.expired = True
                self._interrupt()
            pause = AGAIN_SECONDS

    def stop(self) -> None:
        with self._lock:
            self._stopped.set()

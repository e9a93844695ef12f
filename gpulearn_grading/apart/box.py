"""A student's process as its judge has it: asked, listened to, watched, and ended."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from gpulearn.errors import MachineFault
from gpulearn.judge.limits import waiting_elsewhere
from gpulearn_grading.apart.channel import ChannelClosed
from gpulearn_grading.apart.limits import MIB, Limits
from gpulearn_grading.apart.server import Server
from simt.device.selection import waited_seconds

LOOK_SECONDS = 0.02
MAX_NOTES = 20  # of kinds there are fewer
PATIENCE = 6  # times its seconds, all in all: a demand has three times as long as the cases
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class BoxLost(MachineFault):  # it passes through a trial untouched
    """The process has ended, or was ended; its judge says why."""


class Box:
    """One process, copied from a server; a closed one must not see exercises and checks."""

    def __init__(self, server: Server, limits: Limits, *, closed: bool) -> None:
        self._channel, self._output, self._pid, self.lacks = server.start(closed=closed)
        self._limits = limits  # of all its processes together
        self.ended = ""  # why: a limit that it passed, or "ended" where it did so itself
        self.notes: dict[str, str] = {}  # what it did that is worth telling, and with what
        self._base = _private(self._pid), _proportional(self._pid)  # with all that is loaded
        self._over = threading.Event()
        # what it waits for a core does not count; but it may make itself wait, with its children
        self._last = time.monotonic() + PATIENCE * limits.seconds + 60
        self._waited = partial(waited_seconds, self._pid, self._pid)
        waiting_elsewhere.append(self._waited)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def ask(self, do: str, **what: Any) -> dict[str, Any]:
        """Ask for something, and wait for what comes."""
        if self.ended:
            raise BoxLost(self.ended)
        heard = False
        try:
            self._channel.end.send((do, what))
            while "note" in (message := self._channel.receive()):
                if len(self.notes) < MAX_NOTES:
                    note, about = str(message["note"]), str(message.get("about"))
                    self.notes.setdefault(note[:200], about[:200])
            heard = True
            return message
        except (ChannelClosed, OSError):
            self._over.wait(2 * LOOK_SECONDS)  # the watcher may know why
            self.ended = self.ended or "ended"
            raise BoxLost(self.ended) from None
        finally:
            if not heard:  # interrupted: what comes later would answer another question
                self.ended = self.ended or "time"

    def close(self) -> None:
        """End it with all that it has started."""
        waiting_elsewhere.remove(self._waited)
        self._over.set()
        self._watcher.join()
        self._kill()
        self._channel.end.close()
        os.close(self._output)
        end = time.monotonic() + 5
        while _lives(self._pid) and time.monotonic() < end:
            time.sleep(0.001)

    def _kill(self) -> None:
        """The first process of a namespace takes all others with it; else the session does."""
        with suppress(ProcessLookupError, PermissionError):
            (os.killpg if self.lacks else os.kill)(self._pid, signal.SIGKILL)

    def _watch(self) -> None:
        printed, most = 0, int(self._limits.output_mib * MIB)
        most_memory = int(self._limits.memory_mib * MIB)
        while not self._over.wait(LOOK_SECONDS):
            with suppress(OSError):  # nothing is there now
                while printed <= most and (part := os.read(self._output, 1 << 16)):
                    printed += len(part)  # it is read away, so that nobody waits for room
            processes = _tree(self._pid, self._limits.processes)
            sizes = [_private(process) - self._base[0] for process in processes]
            memory = sum(size for size in sizes if size > 0)  # or more: what a copy shares counts 0
            if memory <= most_memory < sum(sizes) + self._base[0] * (len(sizes) - 1):
                memory = sum(map(_proportional, processes)) - self._base[1]
            passed = {
                "output": printed > most,
                "processes": len(processes) > self._limits.processes,
                "time": time.monotonic() > self._last,
                "memory": memory > most_memory,
            }
            if any(passed.values()):
                self.ended = self.ended or next(limit for limit, over in passed.items() if over)
                self._kill()
                self._over.set()


def _lives(pid: int) -> bool:
    state = _read(f"/proc/{pid}/stat").rpartition(")")[2]
    return bool(state) and not state.startswith(" Z")


def _private(process: int) -> int:
    """Bytes of memory that are no file's; what it shares with its copies among them."""
    sizes = _read(f"/proc/{process}/statm").split()
    return (int(sizes[1]) - int(sizes[2])) * PAGE if sizes else 0


def _proportional(process: int) -> int:
    """The same, with its part of what it shares with its copies; it takes longer to find out."""
    found = re.search(r"^Pss_Anon: *(\d+)", _read(f"/proc/{process}/smaps_rollup"), re.MULTILINE)
    return int(found[1]) << 10 if found else _private(process)


def _tree(pid: int, most: float) -> list[int]:
    """A process with its children, and theirs; until they are too many."""
    found = [pid]
    for process in found:
        with suppress(OSError):  # it has ended
            for task in os.scandir(f"/proc/{process}/task"):
                found += map(int, _read(f"{task.path}/children").split())
        if len(found) > most:
            break
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

"""Whether processes have ended, for tests that end some; needs no package."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["alive", "gone"]

SECONDS = 60.0


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet counts as ended."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not (status.exists() and ") Z " in status.read_text())
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(*pids: int) -> bool:
    """Whether processes end soon: a killed one closes its files, which is seen, before it does."""
    end = time.monotonic() + SECONDS
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True

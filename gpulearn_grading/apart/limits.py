"""The limits of an answer; settings name them on systems too that cannot keep them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one answer may use."""

    seconds: float = 20.0  # for all cases of an exercise, as long as it has a core
    memory: int = 2 << 30  # bytes, of all its processes together
    processes: int = 64  # at any time
    disk: int = 64 << 20  # bytes in its home, which is in memory
    output: int = 4 << 20  # bytes that it may print

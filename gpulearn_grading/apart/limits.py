"""The limits of an answer; settings name them on systems too that cannot keep them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """What one answer may use.

    Attributes:
        seconds: for all cases of an exercise, as long as it has a core.
        memory: bytes, of all its processes together.
        processes: at any time.
        disk: bytes in its home, which is in memory.
        output: bytes that it may print.
    """

    seconds: float = 20.0
    memory: int = 2 << 30
    processes: int = 64
    disk: int = 64 << 20
    output: int = 4 << 20

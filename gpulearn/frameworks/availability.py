"""Whether the other frameworks are installed."""

from __future__ import annotations

from importlib.util import find_spec

from gpulearn.require import install_command

__all__ = ["missing"]


def missing() -> str:
    """How to get the frameworks if one is not installed, in one sentence; else empty."""
    absent = [name for name in ("tensorflow", "jax") if find_spec(name) is None]
    if not absent:
        return ""
    be = "is" if len(absent) == 1 else "are"
    return f"{' and '.join(absent)} {be} not installed: {install_command('frameworks')}"

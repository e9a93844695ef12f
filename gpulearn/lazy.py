"""Lazy public names, as the machine has them: see `simt.lazy`."""

from simt.lazy import attach

__all__ = ["attach"]

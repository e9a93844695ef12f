"""Collects findings; the same mistake on the same lines is told once."""

from __future__ import annotations

from typing import Any

from gpulearn.simt.core.findings import Finding

__all__ = ["FindingLog"]


class FindingLog:
    """The findings of one launch, in the order in which they were made."""

    def __init__(self) -> None:
        self._found: dict[Any, Finding] = {}

    def again(self, key: Any, count: int = 1) -> bool:
        """Whether this mistake is known already; if so, it is counted."""
        known = self._found.get(key)
        if known is None:
            return False
        known.count += count
        return True

    def add(self, key: Any, finding: Finding) -> None:
        """A new finding."""
        self._found.setdefault(key, finding)

    def clear(self) -> None:
        """Forgets all findings: the launch starts again."""
        self._found.clear()

    @property
    def findings(self) -> list[Finding]:
        """All findings so far."""
        return list(self._found.values())

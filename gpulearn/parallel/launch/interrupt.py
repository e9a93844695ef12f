"""Kernel → Interrupt, while ranks run: one sentence in place of the launcher's stack."""

from __future__ import annotations

from gpulearn.errors import in_lines

__all__ = ["Interrupted"]


class Interrupted(KeyboardInterrupt):
    """A person ended the ranks; no `except Exception` holds it up."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a stack trace."""
        return in_lines(self)

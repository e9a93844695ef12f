"""What an answer prints while it is checked: of the case that the check speaks of, once."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

__all__ = ["Printed"]

MOST = 4000  # characters of one case


class _Short(io.StringIO):
    """Keeps the beginning of what is written."""

    def write(self, text: str) -> int:
        """Write text, as long as there is room."""
        room = MOST - self.tell()
        if room > 0:
            super().write(text[:room] + "…\n" * (len(text) > room))
        return len(text)


class Printed:
    """What came to standard output, by case.

    A check runs an answer on many cases, and on several ranks each: were all prints shown,
    those that matter would not be found.

    >>> printed = Printed()
    >>> with printed.during("a vector"):
    ...     print("here")
    >>> printed.show("a vector")
    For a vector, your function prints:
    here
    """

    def __init__(self) -> None:
        self._texts: dict[str, _Short] = {}

    @contextlib.contextmanager
    def during(self, label: str) -> Iterator[None]:
        """Keep what is printed, under the case's label."""
        with contextlib.redirect_stdout(self._texts.setdefault(label, _Short())):
            yield

    def show(self, label: str) -> None:
        """Print what was kept, if anything was."""
        text = self._texts[label].getvalue() if label in self._texts else ""
        if text:
            print(f"For {label}, your function prints:", text.rstrip("\n"), sep="\n")

"""Findings: what can be wrong with a kernel, and the list of what was in one launch."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

# kind -> severity. Errors make a report not ok; warnings cost time, or are right here and now.
_ERRORS = (
    "out-of-bounds", "launch-limit", "race", "overlap", "stream-race", "barrier-divergence",
    "uninitialized-read", "misaligned", "no-progress", "not-a-kernel", "unsupported", "exception",
    "api-error", "host-access", "machine-fault",
)  # fmt: skip
_WARNINGS = (
    "negative-index", "no-effect", "left-before-barrier", "float64-leak", "implicit-copy",
    "no-type-check", "unchecked", "leak",
)  # fmt: skip
KINDS = dict.fromkeys(_ERRORS, "error") | dict.fromkeys(_WARNINGS, "warning")


class SimtWarning(UserWarning):
    """A launch finished, but what it computed may not be what was meant."""


# Python shows a warning once per line; a cell that is run again must warn again. Appended,
# so that any filter of the user's comes first.
warnings.filterwarnings("always", category=SimtWarning, append=True)


@dataclass
class Finding:
    """One mistake: its kind, where it is, and which threads and values show it.

    `threads` holds up to two dicts `{"block": (x, y, z), "thread": (x, y, z)}`; for a race
    `other_line` is the second of the two lines; `count` says how often it was seen.
    """

    kind: str
    line: int | None
    message: str
    threads: list[dict[str, tuple[int, int, int]]] = field(default_factory=list)
    array: str | None = None
    index: tuple[int, ...] | None = None
    other_line: int | None = None
    count: int = 1
    severity: str = ""
    function: str | None = None  # a device function of another cell or file, if it is there
    file: str | None = None  # the file, or the cell, of that function
    errors: tuple[type[Exception], ...] = ()  # what Numba would raise, for `except` clauses
    error: Exception | None = field(default=None, compare=False)  # what reaches the host instead
    detail: tuple[str, ...] = ()  # what tells it from others of its kind, whatever names and lines

    def __post_init__(self) -> None:
        self.severity = self.severity or KINDS[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data = asdict(self)
        del data["errors"], data["error"]
        return data

    def __str__(self) -> str:
        inside = f" of {self.function}" if self.function else ""
        where = f"line {self.line}{inside}: " if self.line else ""
        return f"{where}{self.message}"


class Stop(Exception):  # noqa: N818 - control flow inside the package, never shown
    """Ends a launch, in any function below it; carries the finding that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class FindingLog:
    """The findings of one launch in order; the same mistake on the same lines is reported once.

    With `keep_going` an access out of bounds is one of them, and does not end the launch.
    """

    def __init__(self, *, keep_going: bool = False) -> None:
        self.keep_going = keep_going
        self._by_key: dict[Any, Finding] = {}

    def again(self, key: Any, count: int = 1) -> bool:
        """Whether this mistake is known already; if so, it is counted."""
        earlier = self._by_key.get(key)
        if earlier is None:
            return False
        earlier.count += count
        return True

    def add(self, key: Any, finding: Finding) -> None:
        """A new finding."""
        self._by_key.setdefault(key, finding)

    def clear(self) -> None:
        """Forgets all findings: the launch starts again."""
        self._by_key.clear()

    @property
    def findings(self) -> list[Finding]:
        """All findings so far."""
        return list(self._by_key.values())

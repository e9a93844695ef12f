"""What an answer may use and see; settings name limits on systems too that cannot keep them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True)
class Limits:
    """What one answer may use."""

    seconds: float = 20.0  # for all cases of an exercise, as long as it has a core
    memory: int = 2 << 30  # bytes, of all its processes together
    processes: int = 64  # at any time
    disk: int = 64 << 20  # bytes in its home, which is in memory
    output: int = 4 << 20  # bytes that it may print


class Confinement(NamedTuple):
    """Where an answer runs, from the grader down to the process that has it."""

    hidden: list[Path]  # folders and files that look empty to it
    box: Path  # an empty folder, in which it finds its home
    limits: Limits

    def written(self) -> str:
        """As text, for a process that is started with it."""
        return json.dumps([list(map(str, self.hidden)), str(self.box), vars(self.limits)])

    @classmethod
    def read(cls, text: str) -> Confinement:
        """From the text."""
        hidden, box, limits = json.loads(text)
        return cls(list(map(Path, hidden)), Path(box), Limits(**limits))

"""Deaths while a sharded checkpoint is written: each combination of places, in one process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gpulearn import require
from gpulearn.errors import CheckpointError
from gpulearn_lessons.fault_tolerance.manifests import MEET, last_complete, load_parts, saving_parts

MEMORY = Path("/dev/shm")  # where there is such a folder: a disk takes its time to be sure
Saving = Callable[[Path, int, int, int, dict[str, Any]], Iterator[str]]


@dataclass(frozen=True)
class SaveCrash:
    """What was on the disk when all ranks died in the middle of their second save."""

    points: tuple[int, ...]  # how many points of its save each rank had passed
    said: str  # what each had done last
    # "the new checkpoint", "the old checkpoint", "parts of both", "a part cut short" or "nothing"
    left: str
    goes_on: bool  # whether a run that is started again can save, and read what it has saved


def crash_while_saving(saving: Saving = saving_parts, ranks: int = 2) -> list[SaveCrash]:
    """Let all ranks die at every combination of points of their second save.

    When one rank dies, the launcher ends the others wherever they are: so all combinations count
    that can be reached, since no rank passes a meeting before all have come.

    Args:
        saving: one rank's save, a generator with a stop where it may die: called with the folder,
            the step, the rank, the number of ranks and the state to save.
        ranks: how many there are.

    >>> crashes = crash_while_saving()
    >>> sorted({crash.left for crash in crashes}), all(crash.goes_on for crash in crashes)
    (['the new checkpoint', 'the old checkpoint'], True)
    """
    ranks = require.whole("ranks", ranks)
    crashes, seen, waiting = [], set(), [(0,) * ranks]
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    while waiting:
        target = waiting.pop(0)
        with tempfile.TemporaryDirectory(prefix="gpulearn-", dir=place) as folder:
            _Save(saving, Path(folder), 1, ranks).run()
            save = _Save(saving, Path(folder), 2, ranks)
            save.run(target)
            able = save.can_go_on()
            left = _left(Path(folder), ranks)
            _Save(saving, Path(folder), 2, ranks).run()
            goes_on = _left(Path(folder), ranks) == "the new checkpoint"
        crashes.append(SaveCrash(tuple(save.passed), save.said(), left, goes_on))
        for rank in able:
            further = tuple(n + (other == rank) for other, n in enumerate(save.passed))
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return crashes


class _Save:
    """One save of all ranks, each advanced by itself."""

    def __init__(self, saving: Saving, folder: Path, step: int, ranks: int) -> None:
        states = [_state(step, rank) for rank in range(ranks)]
        self.ranks = [saving(folder, step, n, ranks, state) for n, state in enumerate(states)]
        self.passed = [0] * ranks
        self._last = ["has not begun"] * ranks
        self._meetings = [0] * ranks
        self._over = [False] * ranks

    def can_go_on(self) -> list[int]:
        """The ranks that neither wait for others nor are done."""
        running = [rank for rank, over in enumerate(self._over) if not over]
        met = min((self._meetings[rank] for rank in running), default=0)
        return [r for r in running if self._last[r] != MEET or self._meetings[r] <= met]

    def run(self, target: Sequence[int] | None = None) -> None:
        """Advance each rank until it has passed so many points; all to the end if not said."""
        while able := [
            rank for rank in self.can_go_on() if target is None or self.passed[rank] < target[rank]
        ]:
            for rank in able:
                self._advance(rank)
        for generator in self.ranks:
            getattr(generator, "close", lambda: None)()

    def _advance(self, rank: int) -> None:
        self.passed[rank] += 1
        try:
            self._last[rank] = next(self.ranks[rank])
        except StopIteration:
            self._last[rank], self._over[rank] = "is done", True
        self._meetings[rank] += self._last[rank] == MEET

    def said(self) -> str:
        """What each rank had done last, in words."""
        return ", ".join(f"rank {rank} {last}" for rank, last in enumerate(self._last))


def _state(step: int, rank: int) -> dict[str, Any]:
    return {"step": step, "rank": rank, "shard": torch.full((4,), float(step))}


def _left(folder: Path, ranks: int) -> str:
    """What can be read: of the newest manifest, or of the files where nobody writes one."""
    checkpoint = last_complete(folder)
    try:
        if checkpoint is not None:
            states = load_parts(checkpoint)
        else:
            files = sorted(file for file in folder.iterdir() if file.is_file())
            states = [_read(file) for file in files if file.suffix != ".new"]
    except CheckpointError:
        return "a part cut short"
    if len(states) < ranks:
        return "nothing"
    steps = {int(state["shard"][0]) for state in states}
    if len(steps) > 1:
        return "parts of both"
    return {1: "the old checkpoint", 2: "the new checkpoint"}[steps.pop()]


def _read(file: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(file, weights_only=True)
    except Exception:  # it fails in as many ways as there are bytes in it
        raise CheckpointError(f"{file.name} is cut short.") from None
    return state

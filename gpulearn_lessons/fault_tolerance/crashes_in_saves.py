"""Ranks that die while they save a sharded checkpoint: every combination of moments."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gpulearn_lessons.fault_tolerance.manifests import MEET, last_complete, load_parts, saving_parts

RANKS = 2
MEMORY = Path("/dev/shm")  # if it exists: faster than a disk
Saving = Callable[[Path, int, int, int, dict[str, Any]], Iterator[str]]


@dataclass(frozen=True)
class SaveCrash:
    """The state of the disk after all ranks died in the middle of their second save."""

    # "the new checkpoint", "the old checkpoint", "files of both saves", "an incomplete file",
    # or "nothing"
    outcome: str
    restarts: bool  # whether a restarted run can save, and read what it saved


def crash_while_saving(saving: Saving = saving_parts) -> list[SaveCrash]:
    """Let two ranks die at every combination of moments in their second save.

    When one rank dies, the launcher ends the others wherever they are. So every combination is
    tried that can occur: no rank passes a barrier before all have reached it.

    `saving` is one rank's save, a generator that yields where the rank may die. It is called with
    the folder, the step, the rank, the number of ranks and the state to save.

    >>> crashes = crash_while_saving()
    >>> sorted({crash.outcome for crash in crashes}), all(crash.restarts for crash in crashes)
    (['the new checkpoint', 'the old checkpoint'], True)
    """
    crashes, seen, waiting = [], set(), [(0,) * RANKS]
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    while waiting:
        target = waiting.pop(0)
        with tempfile.TemporaryDirectory(prefix="gpulearn-", dir=place) as folder:
            _Save(saving, Path(folder), 1).run()
            save = _Save(saving, Path(folder), 2)
            save.run(target)
            able = save.able()
            outcome = _outcome(Path(folder))
            _Save(saving, Path(folder), 2).run()
            restarts = _outcome(Path(folder)) == "the new checkpoint"
        crashes.append(SaveCrash(outcome, restarts))
        for rank in able:
            further = tuple(n + (other == rank) for other, n in enumerate(save.passed))
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return crashes


class _Save:
    """One save of all ranks, which advance independently."""

    def __init__(self, saving: Saving, folder: Path, step: int) -> None:
        state = {"step": step, "shard": torch.full((4,), float(step))}
        self.ranks = [saving(folder, step, rank, RANKS, state) for rank in range(RANKS)]
        self.passed = [0] * RANKS
        self._last = [""] * RANKS
        self._meetings = [0] * RANKS
        self._over = [False] * RANKS

    def able(self) -> list[int]:
        """The ranks that are neither done nor waiting for others."""
        running = [rank for rank, over in enumerate(self._over) if not over]
        met = min((self._meetings[rank] for rank in running), default=0)
        return [r for r in running if self._last[r] != MEET or self._meetings[r] <= met]

    def run(self, target: Sequence[int] | None = None) -> None:
        """Advance each rank to its target, a number of points; without one, to the end."""
        while able := [
            rank for rank in self.able() if target is None or self.passed[rank] < target[rank]
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
            self._last[rank], self._over[rank] = "", True
        self._meetings[rank] += self._last[rank] == MEET


def _outcome(folder: Path) -> str:
    """What can be read: by the newest manifest, or all files if there is none."""
    checkpoint = last_complete(folder)
    try:
        if checkpoint is not None:
            states = load_parts(checkpoint)
        else:
            files = sorted(file for file in folder.iterdir() if file.is_file())
            states = [torch.load(f, weights_only=True) for f in files if f.suffix != ".new"]
    except Exception:  # reading a damaged file fails in many ways
        return "an incomplete file"
    if len(states) < RANKS:
        return "nothing"
    steps = {int(state["shard"][0]) for state in states}
    if len(steps) > 1:
        return "files of both saves"
    return {1: "the old checkpoint", 2: "the new checkpoint"}[steps.pop()]

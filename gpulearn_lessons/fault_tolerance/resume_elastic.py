"""A training run that loses most of its state in a restart, to be fixed."""

import contextlib
import functools
import io
import itertools
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import flat_weights
from gpulearn.judge.ranks import RankFailure, on_real_ranks, on_simulated_ranks, watched
from gpulearn.parallel.communicator import rank
from gpulearn.parallel.launch.launch import launch
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.rank_exercise import alike, with_optimizer_loaded
from gpulearn_lessons.fault_tolerance.elastic import ElasticRun, resume_elastic

TOLERANCE = 1e-9  # relative; all is in float64
MAX_CALLS = 60  # of `step`, by one rank in one start


class SimulatedDeath(BaseException):
    """Ends a simulated rank where a real one would be killed."""


@dataclass
class Disk:
    """What survives a restart: the last checkpoint; and what the trial has recorded."""

    written: bytes | None = None
    # of each start: the rows of each rank that has begun a step, by step
    batches: list[dict[int, list[list[int]]]] = field(default_factory=list)
    killed: bool = False


DISKS: dict[int, Disk] = {}  # by trial number: simulated ranks get copies of everything else
NUMBERS = itertools.count()


@dataclass(frozen=True)
class Start:
    """One start of the group."""

    ranks: int  # how many
    # the rank that is killed, and in which of its steps; None if the start ends normally
    kill: tuple[int, int] | None = None
    saving: bool = False  # whether it is killed after that step, before it saves


@dataclass(frozen=True)
class Starts:
    """The starts of one run, the number of steps, and the number of rows."""

    starts: tuple[Start, ...]
    steps: int
    count: int = 20

    def said(self, start: int) -> str:
        """The start in words."""
        if start == 0:
            return "in the first start"
        before, now = self.starts[start - 1], self.starts[start]
        ranks = f"{now.ranks} ranks" if now.ranks > 1 else "1 rank"
        return f"restarted on {ranks}" + f" after {before.ranks}" * (before.ranks != now.ranks)


class TrialRun(ElasticRun):
    """A run whose file is in memory, and whose rank dies by an exception."""

    def __init__(self, disk: int, start: Start, count: int) -> None:
        self.count = count
        super().__init__(Path("run.pt"))
        self._disk, self._start, self._calls = DISKS[disk], start, 0

    def step(self, rows: Any) -> float:
        """A step that is recorded."""
        if self._calls >= MAX_CALLS:
            raise RuntimeError(f"{MAX_CALLS} steps without an end: `steps` counts all of them")
        if self._start.kill == (rank(), self._calls) and not self._start.saving:
            self.die()
        number, self._calls = self._calls, self._calls + 1
        # recorded before the ranks meet, since a rank may be ended right after
        self._disk.batches[-1].setdefault(number, []).append(np.asarray(rows).ravel().tolist())
        return super().step(rows)

    def die(self) -> None:
        """End this rank, and with it the others."""
        self._disk.killed = True
        raise SimulatedDeath

    def save(self, state: dict[str, Any]) -> None:
        """Save as to a file, and check that it can be read."""
        if self._start.kill == (rank(), self._calls - 1) and self._start.saving:
            self.die()
        if rank() == 0:
            file = io.BytesIO()
            torch.save(state, file)
            torch.load(io.BytesIO(file.getvalue()), weights_only=True)
            self._disk.written = file.getvalue()

    def load(self) -> dict[str, Any] | None:
        """The last state saved."""
        if self._disk.written is None:
            return None
        state: dict[str, Any] = torch.load(io.BytesIO(self._disk.written), weights_only=True)
        return state


@dataclass(frozen=True)
class ResumeOutcome:
    """The outcome of a run that was started several times."""

    starts: Starts
    # of each start, the rows of each step, of all ranks together
    batches: tuple[tuple[tuple[int, ...], ...], ...] = ()
    weights: Any = None  # of the model at the end, on rank 0
    losses: Any = None  # what rank 0 returned; in words if it was no row of numbers
    failure: RankFailure | None = None  # how a start failed, if it did
    called: bool = False  # whether it calls the solution


def act(answer: Answer, work: tuple[int, Start, Starts]) -> tuple[Any, Any, bool]:
    """Be one simulated rank in one start."""
    disk, start, starts = work
    run = TrialRun(disk, start, starts.count)
    with watched(answer, resume_elastic) as called:
        losses = answer(run, starts.steps)
    return flat_weights(run.model), as_row(losses), bool(called)


def as_row(value: Any) -> Any:
    """Numbers as a row; anything else in words."""
    try:
        row = np.array([float(number) for number in value])
    except (TypeError, ValueError):
        return shown(value)
    return row


def run(answer: Answer, case: Case) -> ResumeOutcome:
    """Start the group again and again, until it ends normally."""
    starts: Starts = case.args[0]
    number = next(NUMBERS)
    disk = DISKS[number] = Disk()
    try:
        for start in starts.starts:
            disk.killed = False
            disk.batches.append({})
            result = on_simulated_ranks(act, start.ranks, answer, (number, start, starts))
            if isinstance(result, RankFailure) and not disk.killed:
                return ResumeOutcome(starts, _rows(starts, disk), failure=result)
            if not isinstance(result, RankFailure):
                weights, losses, called = result.results[0]
                return ResumeOutcome(starts, _rows(starts, disk), weights, losses, called=called)
    finally:
        del DISKS[number]
    return ResumeOutcome(starts, _rows(starts, disk), losses="nothing")


def _rows(starts: Starts, disk: Disk) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The rows of each step that all ranks began."""
    return tuple(
        tuple(
            tuple(sorted(itertools.chain(*parts)))
            for _, parts in sorted(steps.items())
            if len(parts) == start.ranks
        )
        for start, steps in zip(starts.starts, disk.batches, strict=False)
    )


def difference(got: ResumeOutcome, want: ResumeOutcome) -> str | None:
    starts = got.starts
    if got.called:
        return "it calls the library's function of this name: write it yourself"
    for number, (batches, right) in enumerate(zip(got.batches, want.batches, strict=False)):
        where = starts.said(number)
        for step, (rows, expected) in enumerate(zip(batches, right, strict=False)):
            if rows != expected:
                return (
                    f"{where}, step {step + 1} of this start takes rows "
                    f"{shown(list(rows))} on all ranks together, but an uninterrupted run takes "
                    f"{shown(list(expected))}"
                )
        if got.failure is not None and number == len(got.batches) - 1:
            return f"{where}, {got.failure.sentence}"
        if len(batches) != len(right):
            return f"{where}, it takes {len(batches)} steps, but {len(right)} were left"
    if got.weights is None:
        return "the run is killed before its end"
    if not np.allclose(got.weights, want.weights, rtol=TOLERANCE, atol=0):
        return (
            "each step takes the right rows, but the final weights are not those of an "
            "uninterrupted run"
        )
    if isinstance(got.losses, str):
        return f"it returns {got.losses}, expected the loss of each step"
    if got.losses.shape != want.losses.shape:
        return f"it returns {got.losses.size} losses, expected those of all {starts.steps} steps"
    if not np.allclose(got.losses, want.losses, rtol=TOLERANCE, atol=0):
        return "the weights are right, but it does not return the losses of the steps"
    return None


def same(one: ResumeOutcome, other: ResumeOutcome) -> bool:
    """Whether two answers took the same steps and ended alike."""
    mine, its = ((ran.batches, ran.called, ran.weights, ran.losses) for ran in (one, other))
    return one.failure == other.failure and alike(mine, its, TOLERANCE)


def cases() -> list[Case]:
    """Uninterrupted; killed anywhere, and often; on fewer ranks, on more, on an odd number."""
    works = {
        "2 ranks, none is killed": Starts((Start(2),), 5),
        "3 ranks, none is killed": Starts((Start(3),), 5),
        "2 ranks, killed before the first step": Starts((Start(2, (1, 0)), Start(2)), 3),
        "2 ranks, killed at the start of an epoch": Starts((Start(2, (0, 2)), Start(2)), 5),
        "2 ranks, killed within an epoch": Starts((Start(2, (0, 3)), Start(2)), 7),
        "2 ranks, killed before they save": Starts((Start(2, (0, 2), True), Start(2)), 5),
        "4 ranks, killed three times": Starts(
            (Start(4, (3, 3)), Start(4, (0, 2)), Start(4, (1, 1)), Start(4)), 9
        ),
        "4 ranks, then 2": Starts((Start(4, (2, 3)), Start(2)), 7),
        "2 ranks, then 3": Starts((Start(2, (1, 3)), Start(3)), 7),
        "2 ranks, then 5": Starts((Start(2, (0, 3)), Start(5)), 5),
        "4 ranks, then 1, then 3": Starts((Start(4, (3, 1)), Start(1, (0, 4)), Start(3)), 8),
        "batches that use up the rows": Starts((Start(2, (0, 4)), Start(2)), 6, 16),
        "2 ranks, killed when all is done": Starts((Start(2, (1, 3), True), Start(2)), 4),
    }
    return [Case(label, (work,)) for label, work in works.items()]


REAL = Starts((Start(2, (1, 3)), Start(2)), 6)


def _real(answer: Answer, path: str) -> tuple[Any, Any]:
    """Be one real rank."""
    kills = [start.kill for start in REAL.starts if start.kill is not None]
    run = ElasticRun(path, kills)
    losses = answer(run, REAL.steps)
    return flat_weights(run.model), as_row(losses)


@where_it_runs
def _killed_on_real_ranks(answer: Answer) -> list[tuple[Any, Any]] | RankFailure:
    """What real ranks return if some are killed."""
    with tempfile.TemporaryDirectory() as folder:

        def start(seconds: float) -> list[tuple[Any, Any]]:
            path = f"{folder}/run with {seconds:g} s.pt"
            work = _real, 2, answer, path
            return list(launch(*work, backend="gloo", timeout=seconds, restarts=1))

        with contextlib.redirect_stdout(None):  # hides the messages about kills
            return on_real_ranks(start, answer)


def resumed_on_real_ranks(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What goes wrong with real processes that are killed, or None."""
    if not hasattr(os, "fork"):
        return None  # no real ranks here
    ranks = _killed_on_real_ranks(answer)
    if isinstance(ranks, RankFailure):
        return f"right on simulated ranks, but on real ones {ranks.sentence}."
    undisturbed = Case("", (Starts((Start(2),), REAL.steps),))
    reference = run(resume_elastic, undisturbed)
    if not alike(ranks[0], (reference.weights, reference.losses), TOLERANCE):
        return "right on simulated ranks, but after a kill real ones end with other weights."
    return None


@functools.cache  # the same for every answer
def expected(starts: Starts) -> ResumeOutcome:
    """The solution's steps; the weights and losses of an uninterrupted run."""
    killed = run(resume_elastic, Case("", (starts,)))
    calm = run(resume_elastic, Case("", (replace(starts, starts=starts.starts[-1:]),)))
    return replace(killed, weights=calm.weights, losses=calm.losses)


EXERCISE = Exercise(
    task="Fix a training run so that it resumes after a kill, on any number of ranks.",
    reference=resume_elastic,
    cases=cases,
    run=run,
    ready=with_optimizer_loaded,
    by_hand=False,
    expect=lambda case: expected(case.args[0]),
    difference=difference,
    demand=resumed_on_real_ranks,
    kinships=(same,),
)

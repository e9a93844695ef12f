"""A training that forgets most of itself when it is started again: to be mended."""

from __future__ import annotations

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

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import Ending, on_real_ranks, on_simulated_ranks, watched
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.launch.launch import launch
from gpulearn.require import shown
from gpulearn_lessons.fault_tolerance.elastic import ElasticRun, resume_elastic

answers = Answers(resume_elastic)

TOLERANCE = 1e-9  # relative; all is in float64
MOST_CALLS = 60  # of `step`, by one rank in one start


class SimulatedDeath(BaseException):
    """Ends a simulated rank where a real one would be killed."""


@dataclass
class Disk:
    """What outlives a start: the last checkpoint; and what the trial has seen."""

    written: bytes | None = None
    # of each start: the rows of each rank that has begun a step, by step
    batches: list[dict[int, list[list[int]]]] = field(default_factory=list)
    killed: bool = False


DISKS: dict[int, Disk] = {}  # by the number of the trial: simulated ranks get copies of all else
NUMBERS = itertools.count()


@dataclass(frozen=True)
class Start:
    """One start of the group.

    Attributes:
        ranks: how many ranks there are.
        kill: which rank is killed, and in which of its steps; None if it comes to its end.
        saving: whether it is killed after that step, when it is about to save.
    """

    ranks: int
    kill: tuple[int, int] | None = None
    saving: bool = False


@dataclass(frozen=True)
class Starts:
    """The starts of one run, how many steps it is to have, and how many rows there are."""

    starts: tuple[Start, ...]
    steps: int
    count: int = 20

    def said(self, start: int) -> str:
        """Which start it is, in words."""
        if start == 0:
            return "in the first start"
        before, now = self.starts[start - 1], self.starts[start]
        ranks = f"{now.ranks} ranks" if now.ranks > 1 else "1 rank"
        again = "again on" if before.ranks == now.ranks else f"after {before.ranks}, on"
        return f"started {again} {ranks}"


class TrialRun(ElasticRun):
    """A run whose file is in memory, and whose rank ends by an exception."""

    def __init__(self, disk: int, start: Start, count: int) -> None:
        self.count = count
        super().__init__(Path("run.pt"))
        self._disk, self._start, self._calls = DISKS[disk], start, 0

    def step(self, rows: Any) -> float:
        """A step that is written down."""
        if self._calls >= MOST_CALLS:
            raise RuntimeError(f"{MOST_CALLS} steps and no end: `steps` counts all of them")
        if self._start.kill == (rank(), self._calls) and not self._start.saving:
            self.die()
        number, self._calls = self._calls, self._calls + 1
        # noted before the ranks meet: one that has met them may be ended before it writes
        self._disk.batches[-1].setdefault(number, []).append(np.asarray(rows).ravel().tolist())
        return super().step(rows)

    def die(self) -> None:
        """End this rank, and with it the others."""
        self._disk.killed = True
        raise SimulatedDeath

    def save(self, state: dict[str, Any]) -> None:
        """As to a file, and read as from one."""
        if self._start.kill == (rank(), self._calls - 1) and self._start.saving:
            self.die()
        if rank() == 0:
            file = io.BytesIO()
            torch.save(state, file)
            torch.load(io.BytesIO(file.getvalue()), weights_only=True)
            self._disk.written = file.getvalue()

    def load(self) -> dict[str, Any] | None:
        """What was saved last."""
        if self._disk.written is None:
            return None
        found: dict[str, Any] = torch.load(io.BytesIO(self._disk.written), weights_only=True)
        return found


@dataclass(frozen=True)
class Resumed:
    """What came of a run that was started several times.

    Attributes:
        batches: of each start, the rows of each step, of all ranks together.
        weights: of the model at the end, on rank 0.
        losses: what rank 0 returned; in words what was no row of numbers.
        ending: how a start ended, if not as it should.
        called: whether it calls the function that it is to be.
    """

    starts: Starts
    batches: tuple[tuple[tuple[int, ...], ...], ...] = ()
    weights: Any = None
    losses: Any = None
    ending: Ending | None = None
    called: bool = False


def act(answer: Answer, work: tuple[int, Start, Starts]) -> tuple[Any, Any, bool]:
    """Be one simulated rank in one start."""
    disk, start, starts = work
    run = TrialRun(disk, start, starts.count)
    with watched(answer, resume_elastic) as called:
        losses = answer(run, starts.steps)
    return weights_of(run), as_row(losses), bool(called)


def weights_of(run: ElasticRun) -> Any:
    """All weights of the model in one row."""
    return torch.cat([one.detach().flatten() for one in run.model.parameters()]).numpy()


def as_row(value: Any) -> Any:
    """Numbers as a row; in words what is none."""
    try:
        row = np.array([float(one) for one in value])
    except (TypeError, ValueError):
        return shown(value)
    return row


def run(answer: Answer, case: Case) -> Resumed:
    """Start the group again and again, until it has come to its end."""
    starts: Starts = case.args[0]
    number = next(NUMBERS)
    disk = DISKS[number] = Disk()
    try:
        for start in starts.starts:
            disk.killed = False
            disk.batches.append({})
            came = on_simulated_ranks(act, start.ranks, answer, (number, start, starts))
            if isinstance(came, Ending) and not disk.killed:
                return Resumed(starts, _rows(starts, disk), ending=came)
            if not isinstance(came, Ending):
                weights, losses, called = came.results[0]
                return Resumed(starts, _rows(starts, disk), weights, losses, called=called)
    finally:
        del DISKS[number]
    return Resumed(starts, _rows(starts, disk), losses="nothing")


def _rows(starts: Starts, disk: Disk) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The rows of each step that all ranks have begun."""
    return tuple(
        tuple(
            tuple(sorted(itertools.chain(*parts)))
            for _, parts in sorted(steps.items())
            if len(parts) == start.ranks
        )
        for start, steps in zip(starts.starts, disk.batches, strict=False)
    )


def difference(got: Resumed, wanted: Resumed) -> str | None:
    """The rows of each step first, then the weights, then what is returned."""
    starts = got.starts
    if got.called:
        return "it calls the library's function of this name: write it yourself"
    for number, (found, right) in enumerate(zip(got.batches, wanted.batches, strict=False)):
        where = starts.said(number)
        for step, (rows, expected) in enumerate(zip(found, right, strict=False)):
            if rows != expected:
                return (
                    f"{where}, step {step + 1} of this start takes rows "
                    f"{shown(list(rows))} on all ranks together, where an undisturbed run takes "
                    f"{shown(list(expected))}"
                )
        if got.ending is not None and number == len(got.batches) - 1:
            return f"{where}, {got.ending.said}"
        if len(found) != len(right):
            return f"{where}, it makes {len(found)} steps, and {len(right)} were still to do"
    if got.weights is None:
        return "the run is killed before it comes to its end"
    if not np.allclose(got.weights, wanted.weights, rtol=TOLERANCE, atol=0):
        return (
            "each step takes the right rows, but the weights at the end are not those of an "
            "undisturbed run"
        )
    if isinstance(got.losses, str):
        return f"it returns {got.losses}, expected the loss of each step"
    if got.losses.shape != wanted.losses.shape:
        return f"it returns {got.losses.size} losses, expected those of all {starts.steps} steps"
    if not np.allclose(got.losses, wanted.losses, rtol=TOLERANCE, atol=0):
        return "the weights are right, but the losses that it returns are not those of the steps"
    return None


def same(one: Resumed, other: Resumed) -> bool:
    """Whether two answers made the same steps, and ended alike."""
    if (one.batches, one.ending, one.called) != (other.batches, other.ending, other.called):
        return False
    return _same_row(one.weights, other.weights) and _same_row(one.losses, other.losses)


def _same_row(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return type(one) is type(other)
    return one.shape == other.shape and np.allclose(one, other, rtol=TOLERANCE, atol=0)


def cases() -> list[Case]:
    """Undisturbed; killed anywhere, and often; on fewer ranks, on more, on an odd number."""
    works = {
        "2 ranks, nobody is killed": Starts((Start(2),), 5),
        "3 ranks, nobody is killed": Starts((Start(3),), 5),
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


def with_optimizer_loaded(answer: Answer) -> Answer:
    """The answer; torch loads more where it first makes an optimiser, which takes seconds."""
    torch.optim.Adam([torch.zeros(1)])
    return answer


REAL = Starts((Start(2, (1, 3)), Start(2)), 6)


def _real(answer: Answer, path: str) -> tuple[Any, Any]:
    """Be one real rank."""
    kills = [start.kill for start in REAL.starts if start.kill is not None]
    run = ElasticRun(path, kills)
    losses = answer(run, REAL.steps)
    return weights_of(run), as_row(losses)


def resumed_on_real_ranks(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What is wrong with processes that are killed, or None."""
    if not hasattr(os, "fork"):
        return None  # no real ranks here
    with tempfile.TemporaryDirectory() as folder:

        def start(seconds: float) -> list[tuple[Any, Any]]:
            path = f"{folder}/run with {seconds:g} s.pt"
            return launch(_real, 2, answer, path, backend="gloo", timeout=seconds, restarts=1)

        with contextlib.redirect_stdout(None):  # the kills are no news
            ranks = on_real_ranks(start, answer)
    if isinstance(ranks, Ending):
        return f"right on simulated ranks, but on real ones {ranks.said}."
    undisturbed = Case("", (Starts((Start(2),), REAL.steps),))
    wanted = run(resume_elastic, undisturbed)
    weights, losses = ranks[0]
    if not (_same_row(weights, wanted.weights) and _same_row(losses, wanted.losses)):
        return "right on simulated ranks, but real ones end with other weights after a kill."
    return None


def expected(case: Case) -> Resumed:
    """The solution's steps; the weights and losses of a run that nobody disturbs."""
    return _expected(case.args[0])


@functools.cache  # the same for every answer
def _expected(starts: Starts) -> Resumed:
    killed = run(resume_elastic, Case("", (starts,)))
    calm = run(resume_elastic, Case("", (replace(starts, starts=starts.starts[-1:]),)))
    return replace(killed, weights=calm.weights, losses=calm.losses)


DRAW = "torch.randperm(run.count, generator=run.draws)"
FIRST = f"    order, at = {DRAW}, 0\n    losses"
OPTIMIZER = '        run.optimizer.load_state_dict(saved["optimizer"])\n'
MODEL = '        run.model.load_state_dict(saved["model"])\n'
DRAWS = '        run.draws.set_state(saved["draws"])\n'
PLACE = 'order, at, losses = saved["order"], saved["at"], saved["losses"]'
FULL = "if at + run.batch > run.count:"
ROWS = "rows = order[at : at + run.batch].tensor_split(world_size())[rank()]"
ON = "at += run.batch"
STATE = (
    '        state |= {"draws": run.draws.get_state(), "order": order, "at": at, '
    '"losses": losses}\n'
)
SAVED = 'state = {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}'
SAVE = "        run.save(state)\n"
STEP = "        losses.append(run.step(rows))\n"
OWN = {
    FULL: "each = run.batch // world_size()\n        if at + each > run.count // world_size():",
    ROWS: "rows = order[rank() :: world_size()][at : at + each]",
    ON: "at += each",
}

# what the notebook gives: it saves the model and its own place, and knows no other number of ranks
GIVEN = {
    OPTIMIZER: "",
    DRAWS: "",
    PLACE: 'at, losses = saved["at"], saved["losses"]',
    SAVED: 'state = {"model": run.model.state_dict(), "at": at, "losses": losses}',
    STATE: "",
    **OWN,
}
answers.give(GIVEN)

answers.edit(
    GIVEN,
    "ask of each thing that the next step needs whether it is in the checkpoint, and whether it "
    "means the same on another number of ranks.",
)
answers.edit(
    {OPTIMIZER: ""},
    "the optimiser begins anew after each stop: Adam keeps two means of each weight's gradients, "
    "and they belong in the checkpoint. Load them again as well.",
)
answers.edit(
    {MODEL: ""},
    "the weights begin anew after each stop: they are saved, and never loaded.",
)
FRESH = {FIRST: "    losses", PLACE: f"{PLACE}\n    else:\n        order, at = {DRAW}, 0"}
for first_draw in ({}, FRESH):
    answers.edit(
        {DRAWS: "", **first_draw},
        "after a stop within an epoch the steps go on well until the next epoch: there `run.draws` "
        "gives an order that it has given before, since it began anew. Its state belongs in the "
        "checkpoint: `get_state` and `set_state`.",
    )
answers.edit(
    {PLACE: f'at, losses = saved["at"], saved["losses"]\n        order = {DRAW}'},
    "after a stop it draws a new order, and goes on in it at the place that it had in the old one: "
    "some rows are taken twice in an epoch and others never. Save the order too.",
)
answers.edit(
    {DRAWS: "", PLACE: 'at, losses = saved["at"], saved["losses"]'},
    "each start draws the order of the first epoch again: neither the order nor the state of "
    "`run.draws` comes back from the checkpoint. The training needs both.",
)
answers.edit(
    {PLACE: 'at, losses = saved["at"], saved["losses"]'},
    "the order of the epoch in which it stopped is not the one that it goes on with: save the "
    "order, or what it can be drawn from again.",
)
answers.edit(
    {PLACE: 'order, losses = saved["order"], saved["losses"]'},
    "after a stop the epoch begins again: rows that were taken before the stop are taken twice. "
    "The place in the order belongs in the checkpoint.",
)
answers.edit(
    {PLACE: 'order, at = saved["order"], saved["at"]'},
    "the number of steps that are done is not loaded: after a stop it makes `steps` more, in place "
    "of those that are left.",
)
answers.edit(
    {"    if saved is not None:\n": "    if False:\n"},
    "it never goes on from what was saved: each start begins with the first step.",
)
answers.edit(
    {SAVE: "    run.save(state)\n"},
    "it saves once, at the end: a run that is killed before has nothing to go on from. Save after "
    "each step.",
)
answers.edit(
    {SAVE: "        if len(losses) % 2 == 0:\n            run.save(state)\n"},
    "it saves after every other step only: after a stop, a step that was done is made again. Save "
    "after each.",
)
answers.edit(
    {FULL: "if at >= run.count:"},
    "at the end of an order it takes fewer rows than a batch: when fewer are left, a new order is "
    "drawn, and they are left out.",
)
answers.edit(
    {
        ROWS: "each = run.batch // world_size()\n        "
        "rows = order[at + rank() * each : at + rank() * each + each]"
    },
    "where the number of ranks does not divide the batch, the last rows of each batch are taken by "
    "nobody: `tensor_split` deals out all of them.",
)
answers.edit(
    {ROWS: "rows = order[at : at + run.batch].chunk(world_size())[rank()]"},
    "`chunk` makes parts of one size and may end with fewer of them than there are ranks: of 8 "
    "rows for 5 ranks it makes 4 parts of 2, and the last rank finds none. `tensor_split` makes as "
    "many parts as it is told.",
)
answers.edit(
    OWN,
    "the place is counted in one rank's own rows: on another number of ranks that is another "
    "place. Count it in rows of all ranks together, and let each take its part of the batch.",
)
answers.edit(
    {ROWS: "rows = order[at : at + run.batch]"},
    "every rank takes the whole batch: they all compute the same gradient, and the work is not "
    "shared.",
)
answers.edit(
    {
        FIRST: "    run.draws.manual_seed(rank())\n" + FIRST,
        ROWS: "rows = order[at + rank() : at + run.batch : world_size()]",
    },
    "each rank draws an order of its own, so that their parts overlap: some rows are taken twice "
    "in a step and others never. All ranks must draw the same.",
)
answers.edit(
    {SAVE: "", STEP: "", STATE: STATE + SAVE + STEP},
    "it saves the weights from before the step with the place after it: what comes back has left "
    "a step out. Save when the step is done.",
)
answers.edit(
    {"        at += run.batch\n": "", SAVE: SAVE + "        at += run.batch\n"},
    "the place is moved on after it was saved: after a stop the batch of the last step is taken "
    "again.",
)
answers.edit(
    {FULL: "if at + run.batch >= run.count:"},
    "a batch that ends exactly where the order ends is left out: it is a whole one.",
)
answers.edit(
    {"return losses": "return losses[-1]"},
    "it returns one loss: return those of all steps, in a list.",
)
answers.edit(
    {
        PLACE: 'order, at = saved["order"], saved["at"]\n        steps -= saved["done"]',
        SAVED: "done = len(losses)\n        "
        'state = {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}',
        '"losses": losses}': '"done": done}',
    },
    "what is saved is the number of steps since the last start, not since the first, so that a "
    "second stop miscounts them; and the losses from before the stop are gone.",
)
answers.variant({ROWS: "rows = order[at : at + run.batch][rank() :: world_size()]"})
answers.variant({ROWS: "rows = order[at : at + run.batch].tolist()[rank() :: world_size()]"})
answers.variant({"return losses": "return np.array(losses)"}, np=np)
answers.variant({"return losses": "return tuple(losses)"})


@answers.right
def state_from_before_the_draw(run: Any, steps: int) -> Any:
    """Draws the epoch's order again, from the state that it was drawn from."""
    saved = run.load() or {"draws": run.draws.get_state(), "losses": [], "at": 0}
    if "model" in saved:
        run.model.load_state_dict(saved["model"])
        run.optimizer.load_state_dict(saved["optimizer"])
    losses, at, before = list(saved["losses"]), saved["at"], saved["draws"]
    run.draws.set_state(before)
    order = torch.randperm(run.count, generator=run.draws)
    for _ in range(steps - len(losses)):
        if at + run.batch > run.count:
            before, at = run.draws.get_state(), 0
            order = torch.randperm(run.count, generator=run.draws)
        losses.append(run.step(order[at + rank() : at + run.batch : world_size()]))
        at += run.batch
        run.save(
            {
                "model": run.model.state_dict(),
                "optimizer": run.optimizer.state_dict(),
                "draws": before,
                "at": at,
                "losses": losses,
            }
        )
    return losses


@answers.right
def orders_drawn_again(run: Any, steps: int) -> Any:
    """Saves no random numbers: it draws all orders again, up to the epoch of the next step."""
    in_an_epoch = run.count // run.batch
    saved = run.load()
    losses = [] if saved is None else saved["losses"]
    if saved is not None:
        run.model.load_state_dict(saved["model"])
        run.optimizer.load_state_dict(saved["optimizer"])
    for step in range(steps):
        if step % in_an_epoch == 0:
            order = torch.randperm(run.count, generator=run.draws).tolist()
        if step < len(losses):
            continue
        at = step % in_an_epoch * run.batch
        losses.append(run.step(order[at : at + run.batch][rank() :: world_size()]))
        state = {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
        run.save(state | {"losses": losses})
    return losses


EXERCISE = Exercise(
    task="Mend a training that is started again after a kill, on any number of ranks.",
    reference=resume_elastic,
    cases=cases,
    answers=answers,
    run=run,
    ready=with_optimizer_loaded,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=resumed_on_real_ranks,
    kinships=(same,),
)

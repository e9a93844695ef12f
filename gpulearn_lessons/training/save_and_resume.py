"""Checkpoint and resume: a run that is killed continues as if nothing had happened."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.nn import functional

from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.checkpointing import save_and_resume
from gpulearn_lessons.training.trial import Outcome, apart, flat, network, same

TRUSTS = (
    "it continues to the same bits, but a file from somewhere else can run any code while it is "
    "loaded, as pickle allows: read it with torch.load(path, weights_only=True)."
)


class SimulatedKill(BaseException):
    """The process of a run is ended from outside; no `except` of an answer should see it."""


@dataclass(frozen=True)
class RunPlan:
    # for each call of the answer, how many steps it is asked for, and in which of its steps it is
    # killed, halfway: the 2nd or later, 0 for never
    calls: tuple[tuple[int, int], ...]
    adam: bool = False  # the optimizer, Adam or momentum
    schedule: str = "steps"  # one of `SCHEDULES`

    def name(self, number: int) -> str:
        return "call" if len(self.calls) == 1 else f"call {number + 1}"


def cases() -> list[Case]:
    """Runs that are killed never, once, or twice, with two optimizers, or asked for more."""
    plans = {
        "a run of 5 steps, killed in its 3rd": RunPlan(((5, 3), (5, 0))),
        "a run of 6 steps with Adam, killed twice": RunPlan(((6, 3), (6, 2), (6, 0)), adam=True),
        "a run of 5 steps on a cosine, killed": RunPlan(((5, 4), (5, 0)), schedule="cosine"),
        "a run of 6 steps on one cycle, killed": RunPlan(((6, 3), (6, 0)), schedule="one cycle"),
        "a run of 6 steps with restarts, killed": RunPlan(((6, 4), (6, 0)), schedule="restarts"),
        "a run of 3 steps that is not killed": RunPlan(((3, 0),)),
        "a run that is done, and called again": RunPlan(((2, 0), (2, 0))),
        "a run of 3 steps that is asked for 5": RunPlan(((3, 0), (5, 0))),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


schedules = torch.optim.lr_scheduler
SCHEDULES: Mapping[str, Callable[[Any], Any]] = {
    "steps": lambda optimizer: schedules.StepLR(optimizer, step_size=3, gamma=0.5),
    "cosine": lambda optimizer: schedules.CosineAnnealingLR(optimizer, T_max=7, eta_min=0.01),
    # it counts from the last restart
    "restarts": lambda optimizer: schedules.CosineAnnealingWarmRestarts(optimizer, 2, 2),
    # it moves the momentum as well
    "one cycle": lambda optimizer: schedules.OneCycleLR(optimizer, max_lr=0.3, total_steps=8),
}


class Process:
    """What one process builds: a network with dropout, an optimizer, a schedule, a step."""

    def __init__(
        self, plan: RunPlan, dies_in: int, number: int, look: Callable[[], None] | None = None
    ) -> None:
        torch.default_generator.manual_seed(number)  # no two processes start alike
        self.model = network(dropout=0.3)
        if plan.adam:
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(self.model.parameters(), 0.02)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.2, momentum=0.9)
        self.schedule: Any = SCHEDULES[plan.schedule](self.optimizer)
        self.dies_in, self.steps, self.look = dies_in, 0, look

    def go(self, answer: Answer, path: Path, steps: int) -> None:
        answer(path, self.model, self.optimizer, self.schedule, self.one_step, steps)

    def one_step(self) -> None:
        """Train on a batch drawn at random; a killed one has moved the parameters already."""
        if self.look is not None:
            self.look()
        self.steps += 1
        images = torch.rand(6, 12, dtype=torch.float64)
        labels = torch.randint(4, (6,))
        self.optimizer.zero_grad()
        functional.cross_entropy(self.model(images), labels).backward()
        self.optimizer.step()
        if self.steps == self.dies_in:
            raise SimulatedKill
        self.schedule.step()

    def seen(self) -> dict[str, Any]:
        return {
            "the parameters at the end": flat(self.model.parameters()),
            "the learning rate at the end": self.schedule.get_last_lr()[0],
            "the random numbers that would come next": torch.rand(3).numpy().astype(float),
        }


def facts_of(call: str, steps: int, killed: bool, saved: bool = True) -> dict[str, Any]:
    return {
        f"the number of steps in {call}": steps,
        f"what ends {call}": "a kill" if killed else "its last step",
        f"what is in the file after {call}": "a checkpoint" if saved else "nothing",
    }


def run(answer: Answer, case: Case) -> Outcome:
    """Call an answer once for each process of the plan, in a folder of its own."""
    plan: RunPlan = case.args[0]
    facts: dict[str, Any] = {}
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        for number, (steps, dies_in) in enumerate(plan.calls):
            if number:
                # each process starts with empty variables; here there is only one, so another run
                # overwrites what an answer keeps in a variable
                with contextlib.suppress(Exception):
                    Process(plan, 0, 100).go(answer, Path(folder) / "other.pt", 1)
                path = path.rename(path.with_name(f"moved{number}.pt")) if path.exists() else path
            process = Process(plan, dies_in, number)
            killed = False
            try:
                process.go(answer, path, steps)
            except SimulatedKill:
                killed = True
            saved = path.exists() and path.stat().st_size > 0
            facts |= facts_of(plan.name(number), process.steps, killed, saved)
        facts |= process.seen()
    return Outcome(facts)


sprung: list[str] = []


class Trap:
    """What a file from somewhere else can hold: unpickled, it calls a function."""

    def __reduce__(self) -> Any:
        return spring, ()


def spring() -> None:
    """What the trap calls; a file names a function by its module, so it is no method."""
    sprung.append("sprung")


@where_it_runs
def trusting(answer: Answer) -> bool:
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        after(answer, path, 3, number=0)
        if zipfile.is_zipfile(path):
            torch.save(Trap(), path)
        else:
            path.write_bytes(pickle.dumps(Trap()))
        after(answer, path, 3, number=1)
    trapped, sprung[:] = bool(sprung), []
    return trapped


WHOLE = (
    "it continues to the same bits, but a kill during a save leaves no complete checkpoint at "
    "`path`, and all steps are lost. Save under another name, such as path.with_suffix('.new'), "
    "and then rename that file in a single operation: .replace(path)."
)
REMOVED = (
    "it continues to the same bits, but the old checkpoint is gone from `path` before the new one "
    "is there: a kill between the two loses all steps. Path.replace exchanges them in a single "
    "operation."
)
BESIDE = (
    "it continues to the same bits, but after a kill during a save it does not load the complete "
    "checkpoint at `path`: load that one, and ignore the unfinished file beside it."
)
ELSEWHERE = (
    "it continues to the same bits, but it saves outside of the folder of `path`. That may be on "
    "another file system, from which a file cannot be renamed to `path`: save beside `path`."
)


@contextlib.contextmanager
def killed_in_save(number: int) -> Iterator[None]:
    """A process that dies halfway through its nth torch.save."""
    real, saves = torch.save, itertools.count(1)

    def save(thing: Any, file: Any, *args: Any, **options: Any) -> None:
        if next(saves) != number:
            real(thing, file, *args, **options)
            return
        whole = io.BytesIO()
        real(thing, whole)
        half = whole.getvalue()[: whole.tell() // 2]
        if hasattr(file, "write"):
            file.write(half)
        else:
            Path(file).write_bytes(half)
        raise SimulatedKill

    with patch.object(torch, "save", save):
        yield


@contextlib.contextmanager
def moves(path: Path) -> Iterator[list[tuple[bool, bool]]]:
    """For each file brought to a place by its name: was one there, was it in a folder outside?"""
    there: list[tuple[bool, bool]] = []

    def watched(real: Callable[..., None]) -> Callable[..., None]:
        def move(source: Any, target: Any, *args: Any, **options: Any) -> None:
            if Path(target) == path:
                outside = path.parent.resolve() not in Path(source).resolve().parents
                there.append((path.exists(), outside))
            real(source, target, *args, **options)

        return move

    with patch.multiple(os, rename=watched(os.rename), replace=watched(os.replace)):
        yield there


@where_it_runs
def losing(answer: Answer) -> str | None:
    """Whether a kill while a right answer saves costs it the checkpoint that was there."""
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        with killed_in_save(3):
            after(answer, path, 4, number=0)
        there, readable = path.exists(), False
        with contextlib.suppress(Exception):
            torch.load(path, weights_only=True)
            readable = True
        if not (after(answer, path, 4, number=1) == undisturbed_after(4)).all():
            return BESIDE if readable else WHOLE if there else REMOVED
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        files: list[int] = []

        def look() -> None:
            if path.exists():
                files.append(path.stat().st_ino)

        with moves(path) as kept:
            after(answer, path, 4, 0, look)
        if not all(was_there for was_there, _ in kept[1:]):
            return REMOVED
        if any(outside for _, outside in kept):
            return ELSEWHERE
        if all(one != next_one for one, next_one in itertools.pairwise(files)):
            return None  # each save brings another file to the place
        path.write_bytes(path.read_bytes()[:100])  # one that is written over may be cut short
        lost = not (after(answer, path, 6, number=1) == undisturbed_after(6)).all()
        return WHOLE if lost else None


def after(
    answer: Answer, path: Path, steps: int, number: int, look: Callable[[], None] | None = None
) -> np.ndarray[Any, Any]:
    """The parameters of a new process after a call; `look` is called before each step."""
    process = Process(RunPlan(()), 0, number, look)
    # a file cut short, or with a trap, is refused in many ways
    with contextlib.suppress(Exception, SimulatedKill):
        process.go(answer, path, steps)
    return flat(process.model.parameters())


def undisturbed_after(steps: int) -> np.ndarray[Any, Any]:
    process = Process(RunPlan(()), 0, 0)
    for _ in range(steps):
        process.one_step()
    return flat(process.model.parameters())


def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked of a right answer: files without code, and whole ones."""
    return TRUSTS if trusting(answer) else losing(answer)


def expect(case: Case) -> Outcome:
    """What the same steps give in one process that nobody kills."""
    plan: RunPlan = case.args[0]
    facts: dict[str, Any] = {}
    done = 0
    with apart(0):
        process = Process(plan, 0, 0)
        for number, (steps, dies_in) in enumerate(plan.calls):
            facts |= facts_of(plan.name(number), dies_in or steps - done, killed=bool(dies_in))
            done = done + dies_in - 1 if dies_in else steps
        for _ in range(plan.calls[-1][0]):
            process.one_step()
        facts |= process.seen()
    return Outcome(facts)


EXERCISE = Exercise(
    task="Train to a number of steps, saving after each, so that a killed run can continue.",
    reference=save_and_resume,
    cases=cases,
    run=run,
    expect=expect,
    difference=functools.partial(same, tolerance=0.0),  # the bits must be the same
    demand=demand,
)

"""Checkpoint and resume: a run that is stopped goes on as if nothing had happened."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import pickle
import shutil
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

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.checkpointing import save_and_resume
from gpulearn_lessons.training.trial import Seen, apart, flat, network, same

answers = Answers(save_and_resume)
TRUSTS = (
    "it goes on to the same bits, but a file from somewhere else may run any code while it is "
    "loaded, as pickle lets it: read it with torch.load(path, weights_only=True)."
)


class Killed(BaseException):
    """The process of a run is ended from outside; no `except` of an answer should see it."""


@dataclass(frozen=True)
class RunPlan:
    """A run and what happens to it.

    Attributes:
        calls: for each call of the answer, how many steps it is asked for, and in which of its
            steps it is killed, halfway: the 2nd or later, 0 for never.
        adam: the optimiser, Adam or momentum.
        schedule: one of `SCHEDULES`.
    """

    calls: tuple[tuple[int, int], ...]
    adam: bool = False
    schedule: str = "steps"

    def name(self, number: int) -> str:
        return "call" if len(self.calls) == 1 else f"call {number + 1}"


def cases() -> list[Case]:
    """Runs without a stop, stopped once and twice, with two optimisers, and asked for more."""
    plans = {
        "a run of 5 steps, killed in its 3rd": RunPlan(((5, 3), (5, 0))),
        "a run of 6 steps with Adam, killed twice": RunPlan(((6, 3), (6, 2), (6, 0)), adam=True),
        "a run of 5 steps on a cosine, killed": RunPlan(((5, 4), (5, 0)), schedule="cosine"),
        "a run of 6 steps on one cycle, killed": RunPlan(((6, 3), (6, 0)), schedule="one cycle"),
        "a run of 6 steps with restarts, killed": RunPlan(((6, 4), (6, 0)), schedule="restarts"),
        "a run of 3 steps that nobody stops": RunPlan(((3, 0),)),
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
    """What one process builds: a network with dropout, an optimiser, a schedule, a step."""

    def __init__(self, plan: RunPlan, dies_in: int, number: int) -> None:
        torch.default_generator.manual_seed(number)  # no two processes begin alike
        self.model = network(dropout=0.3)
        if plan.adam:
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(self.model.parameters(), 0.02)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.2, momentum=0.9)
        self.schedule: Any = SCHEDULES[plan.schedule](self.optimizer)
        self.dies_in, self.steps = dies_in, 0

    def go(self, answer: Answer, path: Path, steps: int) -> None:
        answer(path, self.model, self.optimizer, self.schedule, self.one_step, steps)

    def one_step(self) -> None:
        """Train on a batch drawn at random; a killed one has moved the parameters already."""
        self.steps += 1
        images = torch.rand(6, 12, dtype=torch.float64)
        labels = torch.randint(4, (6,))
        self.optimizer.zero_grad()
        functional.cross_entropy(self.model(images), labels).backward()
        self.optimizer.step()
        if self.steps == self.dies_in:
            raise Killed
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


def run(answer: Answer, case: Case) -> Seen:
    """Call an answer once for each process of the plan, in a folder of its own."""
    plan: RunPlan = case.args[0]
    facts: dict[str, Any] = {}
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        for number, (steps, dies_in) in enumerate(plan.calls):
            if number:
                # each process begins with empty variables; here there is but one, so what an
                # answer keeps in a variable becomes that of another run
                with contextlib.suppress(Exception):
                    Process(plan, 0, 100).go(answer, Path(folder) / "other.pt", 1)
                path = path.rename(path.with_name(f"moved{number}.pt")) if path.exists() else path
            process = Process(plan, dies_in, number)
            killed = False
            try:
                process.go(answer, path, steps)
            except Killed:
                killed = True
            there = path.exists() and path.stat().st_size > 0
            facts |= facts_of(plan.name(number), process.steps, killed, there)
        facts |= process.seen()
    return Seen(facts)


sprung: list[str] = []


class Trap:
    """What a file from somewhere else may hold: unpickled, it calls a function."""

    def __reduce__(self) -> Any:
        return spring, ()


def spring() -> None:
    """What the trap calls; a file names a function by its module, so it is no method."""
    sprung.append("sprung")


def trusting(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """Whether a right answer runs code which the file brings along."""
    plan = RunPlan(((3, 0),))
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        for number in range(2):
            with contextlib.suppress(Exception):  # it may refuse the file as it likes
                Process(plan, 0, number).go(answer, path, 3)
            if number == 0 and zipfile.is_zipfile(path):
                torch.save(Trap(), path)
            elif number == 0:
                path.write_bytes(pickle.dumps(Trap()))
    found, sprung[:] = bool(sprung), []
    return TRUSTS if found else None


WHOLE = (
    "it goes on to the same bits, but a kill that comes while it saves leaves no whole checkpoint "
    "at `path`, and all steps are lost. Save under another name, such as "
    "path.with_suffix('.new'), and then bring it to its place at once: .replace(path)."
)
REMOVED = (
    "it goes on to the same bits, but the last checkpoint is taken from its place before the next "
    "one is there: a kill between the two loses all steps. Path.replace puts the new one in the "
    "old one's place at once."
)
BESIDE = (
    "it goes on to the same bits, but after a kill that comes while it saves it does not take the "
    "whole checkpoint that is at `path`: load that one, and let what lies beside it be."
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
        raise Killed

    with patch.object(torch, "save", save):
        yield


@contextlib.contextmanager
def moves(path: Path) -> Iterator[list[bool]]:
    """For each file that is brought to a place by its name, whether one was there until then."""
    there: list[bool] = []

    def watched(real: Callable[..., None]) -> Callable[..., None]:
        def move(source: Any, target: Any, *args: Any, **options: Any) -> None:
            if Path(target) == path:
                there.append(path.exists())
            real(source, target, *args, **options)

        return move

    with patch.multiple(os, rename=watched(os.rename), replace=watched(os.replace)):
        yield there


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
        with moves(path) as kept:
            after(answer, path, 4, number=0, look=lambda: files.append(path.stat().st_ino))
        if not all(kept[1:]):
            return REMOVED
        if all(one != next_one for one, next_one in itertools.pairwise(files)):
            return None  # each save brings another file to the place
        path.write_bytes(path.read_bytes()[:100])  # one that is written over may be cut short
        lost = not (after(answer, path, 6, number=1) == undisturbed_after(6)).all()
        return WHOLE if lost else None


def after(
    answer: Answer, path: Path, steps: int, number: int, look: Callable[[], object] | None = None
) -> np.ndarray[Any, Any]:
    """The parameters of a new process after a call; `look` is called before each step but one."""
    process = Process(RunPlan(()), 0, number)
    plain = process.one_step

    def one_step() -> None:
        if look is not None and path.exists():
            look()
        plain()

    with contextlib.suppress(Exception, Killed):  # a file cut short is refused in many ways
        answer(path, process.model, process.optimizer, process.schedule, one_step, steps)
    return flat(process.model.parameters())


def undisturbed_after(steps: int) -> np.ndarray[Any, Any]:
    """The parameters after steps that nothing disturbs."""
    process = Process(RunPlan(()), 0, 0)
    for _ in range(steps):
        process.one_step()
    return flat(process.model.parameters())


def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked of a right answer: files without code, and whole ones."""
    return trusting(answer, outcomes) or losing(answer)


def expect(case: Case) -> Seen:
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
    return Seen(facts)


LOADS = {
    "model": '        model.load_state_dict(saved["model"])\n',
    "optimizer": '        optimizer.load_state_dict(saved["optimizer"])\n',
    "schedule": '        schedule.load_state_dict(saved["schedule"])\n',
    "random": '        torch.set_rng_state(saved["random"])\n',
    "done": '        done = saved["done"]\n',
}
STEP = "        one_step()\n"
COLLECTS = """\
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        saved |= {"schedule": schedule.state_dict(), "random": torch.get_rng_state()}
        saved["random on GPUs"] = torch.cuda.get_rng_state_all()  # none without a GPU
"""
SAVES = """\
        torch.save(saved | {"done": done}, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)"""
SAVES_AFTER = """\
    torch.save(saved | {"done": done}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)"""


def forgetting(*parts: str) -> dict[str, str]:
    """Edits after which some parts of a checkpoint are not loaded."""
    return {LOADS[part]: "" for part in parts}


answers.edit(
    forgetting("optimizer"),
    "the optimiser begins anew after a stop: what it remembers of earlier steps, "
    "optimizer.state_dict(), is to be saved and loaded.",
)
answers.edit(
    forgetting("schedule"),
    "the schedule begins anew after a stop: save schedule.state_dict() and load it.",
)
answers.edit(
    forgetting("random"),
    "after a stop other batches are drawn, and dropout hides other numbers: save "
    "torch.get_rng_state(), and set it with torch.set_rng_state.",
)
answers.edit(
    forgetting("done"),
    "after a stop it makes as many steps as if it began anew: `steps` is how many there are "
    "to be in all. Save how many are done, and go on from there.",
)
answers.edit(
    forgetting("model"),
    "the given model is never loaded, it goes on from new parameters. one_step trains the "
    "model that it was built with: use model.load_state_dict, which fills that one.",
)
answers.edit(
    forgetting("optimizer", "schedule", "random"),
    "only the parameters come back, and the count: the optimiser, the schedule and the random "
    "numbers have a state too.",
)
answers.edit(
    forgetting("optimizer", "schedule", "random", "done"),
    "only the parameters come back: the optimiser, the schedule, the random numbers and the "
    "count of steps have a state too.",
)
answers.edit(
    forgetting("schedule", "random"),
    "the schedule and the random numbers begin anew after a stop: both have a state to save.",
)
answers.edit(
    forgetting("optimizer", "random"),
    "the optimiser and the random numbers begin anew after a stop: both have a state to save.",
)
answers.edit(
    forgetting("optimizer", "schedule"),
    "the optimiser and the schedule begin anew after a stop: both have a state_dict to save.",
)
answers.edit(
    {'{"done": done}': '{"done": done - 1}'},
    "after a stop one step is made twice: the count is one too low, where it is saved or where it "
    "is loaded.",
)
answers.edit(
    {STEP: "", SAVES: f"{SAVES}\n{STEP}"},
    "it saves before the step and counts that step as done: after a stop one step is missing. "
    "Save what is true after it.",
)
answers.edit(
    {SAVES: SAVES_AFTER},
    "it saves once, after the last step: a run that is killed before has saved nothing. Save after "
    "each step.",
)
answers.edit(
    {
        f"{STEP}        done += 1\n": """\
        killed = None
        try:
            one_step()
            done += 1
        except BaseException as error:
            killed = error
""",
        SAVES: f"{SAVES}\n        if killed:\n            raise killed",
    },
    "it saves in a finally or an except: a process that is killed does not get there, and here it "
    "saves a step that was only half made. Save after each whole step.",
)
answers.edit(
    {"    while": COLLECTS.replace("        ", "    ") + "    while", COLLECTS: ""},
    "the dictionary is made once, before the loop: the optimiser's and the schedule's state, the "
    "random numbers and the count in it are those of the start. Make it anew after each step.",
)
answers.edit(
    {
        "if path.exists()": "if memory and path.exists()",
        "torch.load(path, weights_only=True)": "memory",
        SAVES: '        memory.update(saved | {"done": done})',
    },
    "nothing is in the file: what is kept in a variable goes with the process, and another file "
    "is not found again. Write it with torch.save to `path`.",
    memory={},
)
answers.edit(
    {
        'torch.set_rng_state(saved["random"])': 'torch.set_rng_state(memory["random"])',
        STEP: STEP + '        memory["random"] = torch.get_rng_state()\n',
    },
    "after a stop other batches are drawn, though the file holds the rest: the state of the random "
    "numbers is kept in a variable, which goes with the process. Save it with the others.",
    memory={},
)
answers.edit(
    {"if path.exists()": "if False"},
    "it never loads: a run that was stopped begins anew. Where path exists, load it.",
)
answers.edit(
    {"if path.exists()": "if True"},
    "it loads before anything was saved: at the first start there is no file. Load only where "
    "path exists.",
)
answers.edit(
    {"model.state_dict()": "model"},
    "it saves the model itself, or another object, and weights_only=True lets plain values and "
    "tensors through only: save model.state_dict(). Do not set weights_only to False, as torch "
    "proposes: then a file may run any code.",
)
answers.edit(
    {
        'torch.set_rng_state(saved["random"])': 'torch.manual_seed(saved["random"])',
        "torch.get_rng_state()": "torch.initial_seed()",
    },
    "torch.manual_seed begins its numbers anew: after a stop those come again that came first. "
    "Save the state, torch.get_rng_state().",
)
answers.edit(
    {
        STEP: "        before = torch.get_rng_state()\n" + STEP,
        '"random": torch.get_rng_state()': '"random": before',
    },
    "the state of the random numbers is taken before the step: after a stop the numbers of the "
    "last step come again. Take it after the step, as the rest.",
)
answers.edit({"weights_only=True": "weights_only=False"}, TRUSTS)
answers.edit(
    {
        "while done < steps": "while True",
        SAVES: f"{SAVES}\n        if done >= steps:\n            break",
    },
    "a run that is called again after its last step makes one step more: look at the count before "
    "the first step.",
)
answers.edit(
    {SAVES: "        if done % 2:\n            continue\n" + SAVES},
    "it saves after every second step only: after a stop, or at its end, the last one may be lost.",
)
answers.variant(
    {
        "path.exists()": "path.is_file()",
        "torch.load(path, ": 'torch.load(str(path), map_location="cpu", ',
        SAVES: """\
        with open(f"{path}.half", "wb") as file:
            torch.save(saved | {"done": done}, file)
        Path(f"{path}.half").rename(path)""",
    }
)


answers.edit({SAVES: '        torch.save(saved | {"done": done}, path)'}, WHOLE)
answers.edit(
    {
        "    if path.exists():\n        saved = torch.load(path,": (
            "    new = path.with_suffix('.new')\n    if new.exists() or path.exists():\n"
            "        saved = torch.load(new if new.exists() else path,"
        )
    },
    BESIDE,
)
answers.edit({SAVES: "        path.unlink(missing_ok=True)\n" + SAVES}, REMOVED)


@answers.right
def with_try(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    try:
        saved = torch.load(path)
    except FileNotFoundError:
        saved = None
    if saved is not None:
        model.load_state_dict(saved[0])
        optimizer.load_state_dict(saved[1])
        schedule.load_state_dict(saved[2])
        torch.random.set_rng_state(saved[3])
    for done in range(saved[4] if saved else 0, steps):
        one_step()
        everything = (model, optimizer, schedule)
        kept = [*(x.state_dict() for x in everything), torch.get_rng_state(), done + 1]
        torch.save(kept, str(path) + "~")
        shutil.move(str(path) + "~", path)


EXERCISE = Exercise(
    task="Train to a number of steps, saving after each, so that a stopped run can go on.",
    reference=save_and_resume,
    cases=cases,
    answers=answers,
    run=run,
    expect=expect,
    difference=functools.partial(same, tolerance=0.0),  # the bits must be the same
    demand=demand,
)

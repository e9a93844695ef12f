"""A run that is stopped and goes on as if nothing had happened."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from gpulearn.checker.answers import Answer, Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.training.trial import (
    Seen,
    apart,
    flat,
    network,
    same,
)
from gpulearn.train.checkpointing import save_and_resume

__all__ = ["EXERCISE"]

answers = Answers()
TRUSTS = (
    "it goes on to the same bits, but a file from somewhere else may run any code while it is "
    "loaded, as pickle lets it: read it with torch.load(path, weights_only=True)."
)


class Killed(BaseException):
    """The process of a run is ended from outside; no `except` of an answer should see it."""


@dataclass(frozen=True)
class Plan:
    """A run and what happens to it.

    Attributes:
        calls: for each call of the answer, how many steps it is asked for, and in which of its
            steps it is killed, halfway: the 2nd or later, 0 for never.
        adam: the optimiser, Adam or momentum.
    """

    calls: tuple[tuple[int, int], ...]
    adam: bool = False


def cases() -> list[Case]:
    """Runs without a stop, stopped once and twice, with two optimisers, and asked for more."""
    plans = {
        "a run of 5 steps, killed in its 3rd": Plan(((5, 3), (5, 0))),
        "a run of 6 steps with Adam, killed twice": Plan(((6, 3), (6, 2), (6, 0)), adam=True),
        "a run of 3 steps that nobody stops": Plan(((3, 0),)),
        "a run that is done, and called again": Plan(((2, 0), (2, 0))),
        "a run of 3 steps that is asked for 5": Plan(((3, 0), (5, 0))),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


class Process:
    """What one process builds: a network with dropout, an optimiser, a schedule, a step."""

    def __init__(self, plan: Plan, dies_in: int, number: int) -> None:
        torch.default_generator.manual_seed(number)  # no two processes begin alike
        self.model = network(dropout=0.3)
        if plan.adam:
            self.optimizer: torch.optim.Optimizer = torch.optim.Adam(self.model.parameters(), 0.02)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.2, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=3, gamma=0.5)
        self.dies_in, self.steps = dies_in, 0

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


def run(answer: Answer, case: Case) -> Seen:
    """Call an answer once for each process of the plan, in a folder of its own."""
    plan: Plan = case.args[0]
    facts: dict[str, Any] = {}
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        for number, (steps, dies_in) in enumerate(plan.calls):
            if number:
                another_run(answer, plan, Path(folder))
                path = path.rename(path.with_name(f"moved{number}.pt")) if path.exists() else path
            process = Process(plan, dies_in, number)
            arguments = process.model, process.optimizer, process.schedule, process.one_step, steps
            killed = False
            try:
                answer(path, *arguments)
            except Killed:
                killed = True
            name = "call" if len(plan.calls) == 1 else f"call {number + 1}"
            facts[f"the number of steps in {name}"] = process.steps
            facts[f"what ends {name}"] = "a kill" if killed else "its last step"
            there = path.exists() and path.stat().st_size > 0
            facts[f"what is in the file after {name}"] = "a checkpoint" if there else "nothing"
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
    plan = Plan(((3, 0),))
    with apart(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        for number in range(2):
            process = Process(plan, 0, number)
            arguments = process.model, process.optimizer, process.schedule, process.one_step
            with contextlib.suppress(Exception):  # it may refuse the file as it likes
                answer(path, *arguments, 3)
            if number == 0:
                kind = torch.save if zipfile.is_zipfile(path) else pickled
                kind(Trap(), path)
    found, sprung[:] = bool(sprung), []
    return TRUSTS if found else None


def pickled(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


def another_run(answer: Answer, plan: Plan, folder: Path) -> None:
    """One step of a run of its own: what an answer keeps in a variable is of this one now.

    Each process begins with empty variables; here there is but one process.
    """
    process = Process(plan, 0, 100)
    arguments = process.model, process.optimizer, process.schedule, process.one_step
    with contextlib.suppress(Exception):
        answer(folder / "other.pt", *arguments, 1)


def expect(case: Case) -> Seen:
    """What the same steps give in one process that nobody kills."""
    plan: Plan = case.args[0]
    facts: dict[str, Any] = {}
    done = 0
    with apart(0):
        process = Process(plan, 0, 0)
        for number, (steps, dies_in) in enumerate(plan.calls):
            name = "call" if len(plan.calls) == 1 else f"call {number + 1}"
            facts[f"the number of steps in {name}"] = dies_in or steps - done
            facts[f"what ends {name}"] = "a kill" if dies_in else "its last step"
            facts[f"what is in the file after {name}"] = "a checkpoint"
            done = done + dies_in - 1 if dies_in else steps
        for _ in range(plan.calls[-1][0]):
            process.one_step()
        facts |= process.seen()
    return Seen(facts)


def difference(got: Any, expected: Any) -> str | None:
    """Compare; the bits must be the same."""
    return same(got, expected, tolerance=0.0)


Parts = dict[str, Any]
PARTS = ("model", "optimizer", "schedule", "random", "done")


def restore(saved: Parts, model: Any, optimizer: Any, schedule: Any, names: Any = PARTS) -> int:
    for name, part in (("model", model), ("optimizer", optimizer), ("schedule", schedule)):
        if name in names:
            part.load_state_dict(saved[name])
    if "random" in names:
        torch.set_rng_state(saved["random"])
    return int(saved["done"]) if "done" in names else 0


def state(model: Any, optimizer: Any, schedule: Any, done: int) -> Parts:
    parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    parts |= {"schedule": schedule.state_dict(), "random": torch.get_rng_state()}
    return parts | {"done": done}


def forgetting(*forgotten: str) -> Callable[..., None]:
    """An answer that saves and loads all but some parts."""
    names = [name for name in PARTS if name not in forgotten]

    def answer(
        path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
    ) -> None:
        done = 0
        if path.exists():
            saved = torch.load(path, weights_only=True)
            done = restore(saved, model, optimizer, schedule, names)
        while done < steps:
            one_step()
            done += 1
            torch.save(state(model, optimizer, schedule, done), path)

    answer.__name__ = f"forgets_{'_and_'.join(forgotten)}"
    return answer


for parts, hint in (
    (
        ("optimizer",),
        "the optimiser begins anew after a stop: what it remembers of earlier steps belongs in the "
        "checkpoint, optimizer.state_dict().",
    ),
    (
        ("schedule",),
        "the schedule begins anew after a stop: save schedule.state_dict() and load it.",
    ),
    (
        ("random",),
        "after a stop other batches are drawn, and dropout hides other numbers: save "
        "torch.get_rng_state(), and set it with torch.set_rng_state.",
    ),
    (
        ("done",),
        "after a stop it makes as many steps as if it began anew: `steps` is how many there are "
        "to be in all. Save how many are done, and go on from there.",
    ),
    (
        ("model",),
        "the given model is never loaded, it goes on from new parameters. one_step trains the "
        "model that it was built with: use model.load_state_dict, which fills that one.",
    ),
    (
        ("optimizer", "schedule", "random"),
        "only the parameters come back, and the count: the optimiser, the schedule and the random "
        "numbers have a state too.",
    ),
    (
        ("optimizer", "schedule", "random", "done"),
        "only the parameters come back: the optimiser, the schedule, the random numbers and the "
        "count of steps have a state too.",
    ),
    (
        ("schedule", "random"),
        "the schedule and the random numbers begin anew after a stop: both have a state to save.",
    ),
    (
        ("optimizer", "random"),
        "the optimiser and the random numbers begin anew after a stop: both have a state to save.",
    ),
    (
        ("optimizer", "schedule"),
        "the optimiser and the schedule begin anew after a stop: both have a state_dict to save.",
    ),
):
    answers.wrong(hint)(forgetting(*parts))


@answers.wrong(
    "it saves the number of a step before that step is counted: after a stop one step is made "
    "twice."
)
def one_too_few(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    begin = 0
    if path.exists():
        begin = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    for done in range(begin, steps):
        one_step()
        torch.save(state(model, optimizer, schedule, done), path)


@answers.wrong(
    "it saves before the step and counts that step as done: after a stop one step is missing. "
    "Save what is true after it."
)
def saves_before_the_step(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while done < steps:
        done += 1
        torch.save(state(model, optimizer, schedule, done), path)
        one_step()


@answers.wrong(
    "it saves once, after the last step: a run that is killed before has saved nothing. Save after "
    "each step."
)
def saves_at_the_end(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    for _ in range(done, steps):
        one_step()
    torch.save(state(model, optimizer, schedule, steps), path)


@answers.wrong(
    "it saves in a finally or an except: a process that is killed does not get there, and here it "
    "saves a step that was only half made. Save after each whole step."
)
def saves_while_dying(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    try:
        while done < steps:
            one_step()
            done += 1
    finally:
        torch.save(state(model, optimizer, schedule, done), path)


@answers.wrong(
    "the dictionary is made once, before the loop: the optimiser's and the schedule's state, the "
    "random numbers and the count in it are those of the start. Make it anew after each step."
)
def saves_the_beginning(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    beginning = state(model, optimizer, schedule, done)
    while done < steps:
        one_step()
        done += 1
        torch.save(beginning | {"done": done}, path)


memory: Parts = {}


@answers.wrong(
    "nothing is in the file: what is kept in a variable goes with the process, and another file "
    "is not found again. Write it with torch.save to `path`."
)
def keeps_it_in_memory(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = restore(memory, model, optimizer, schedule) if memory and path.exists() else 0
    while done < steps:
        one_step()
        done += 1
        memory.update(state(model, optimizer, schedule, done))


@answers.wrong(
    "after a stop other batches are drawn, though the file holds the rest: the state of the random "
    "numbers is kept in a variable, which goes with the process. Save it with the others."
)
def keeps_random_in_memory(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        saved = torch.load(path, weights_only=True)
        done = restore(saved | memory, model, optimizer, schedule)
    while done < steps:
        one_step()
        done += 1
        memory["random"] = torch.get_rng_state()
        torch.save(state(model, optimizer, schedule, done), path)


@answers.wrong("it never loads: a run that was stopped begins anew. Where path exists, load it.")
def never_loads(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    for done in range(steps):
        one_step()
        torch.save(state(model, optimizer, schedule, done + 1), path)


@answers.wrong(
    "it loads before anything was saved: at the first start there is no file. Ask path.exists()."
)
def loads_before_saving(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while done < steps:
        one_step()
        done += 1
        torch.save(state(model, optimizer, schedule, done), path)


@answers.wrong(
    "it saves the model itself, or another object, and weights_only=True lets plain values and "
    "tensors through only: save model.state_dict(). Do not set weights_only to False, as torch "
    "proposes: then a file may run any code."
)
def saves_the_model_itself(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while done < steps:
        one_step()
        done += 1
        torch.save(state(model, optimizer, schedule, done) | {"model": model}, path)


@answers.wrong(
    "the seed is saved, and torch.manual_seed begins its numbers anew: after a stop those come "
    "again that came first. Save the state, torch.get_rng_state()."
)
def saves_the_seed(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        saved = torch.load(path, weights_only=True)
        done = restore(saved, model, optimizer, schedule, (*PARTS[:3], "done"))
        torch.manual_seed(saved["random"])
    while done < steps:
        one_step()
        done += 1
        saved = state(model, optimizer, schedule, done) | {"random": torch.initial_seed()}
        torch.save(saved, path)


@answers.wrong(
    "the state of the random numbers is taken before the step: after a stop the numbers of the "
    "last step come again. Take it after the step, as the rest."
)
def random_from_before_the_step(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while done < steps:
        before = torch.get_rng_state()
        one_step()
        done += 1
        torch.save(state(model, optimizer, schedule, done) | {"random": before}, path)


@answers.wrong(TRUSTS)
def trusts_the_file(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=False), model, optimizer, schedule)
    while done < steps:
        one_step()
        done += 1
        torch.save(state(model, optimizer, schedule, done), path)


@answers.wrong(
    "a run that is called again after its last step makes one step more: look at the count before "
    "the first step."
)
def one_step_at_least(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while True:
        one_step()
        done += 1
        torch.save(state(model, optimizer, schedule, done), path)
        if done >= steps:
            break


@answers.wrong(
    "it saves after every second step only: after a stop, or at its end, the last one may be lost."
)
def saves_now_and_then(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.exists():
        done = restore(torch.load(path, weights_only=True), model, optimizer, schedule)
    while done < steps:
        one_step()
        done += 1
        if done % 2 == 0:
            torch.save(state(model, optimizer, schedule, done), path)


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
        torch.save([*(x.state_dict() for x in everything), torch.get_rng_state(), done + 1], path)


@answers.right
def with_two_files(
    path: Path, model: Any, optimizer: Any, schedule: Any, one_step: Any, steps: int
) -> None:
    done = 0
    if path.is_file():
        saved = torch.load(str(path), map_location="cpu", weights_only=True)
        done = restore(saved, model, optimizer, schedule)
    while done < steps:
        one_step()
        done = done + 1
        torch.save(state(model, optimizer, schedule, done), path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)


EXERCISE = Exercise(
    name="save_and_resume",
    notebook="12_training_loop",
    task="Train to a number of steps, saving after each, so that a stopped run can go on.",
    reference=save_and_resume,
    cases=cases,
    answers=answers,
    run=run,
    expect=expect,
    difference=difference,
    demand=trusting,
)

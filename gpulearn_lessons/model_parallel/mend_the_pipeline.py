"""A training on a pipeline of two ranks that runs and learns something else: to be mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import Ending, demand_on_real_ranks, on_simulated_ranks
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.model_parallel.pipeline_parallel.two_stages import mend_the_pipeline

answers = Answers(mend_the_pipeline)

TOLERANCE = 1e-9  # relative; all is in float64
RANKS = 2
WIDTH = 3


@dataclass(frozen=True)
class TwoStageRun:
    """What the two ranks train.

    Attributes:
        rows: of each micro-batch of each batch.
        lr: learning rate.
    """

    rows: tuple[tuple[int, ...], ...]
    lr: float

    def batches(self) -> list[list[tuple[Tensor, Tensor]]]:
        """The micro-batches, the same on both ranks."""
        random = np.random.default_rng(sum(self.rows, ()))
        return [
            [
                (torch.from_numpy(random.normal(size=(n, WIDTH))),
                 torch.from_numpy(random.normal(size=(n, WIDTH))))
                for n in batch
            ]
            for batch in self.rows
        ]  # fmt: skip

    def stages(self) -> list[nn.Module]:
        """Both stages, in float64."""
        random = np.random.default_rng(7)
        made: list[nn.Module] = [
            nn.Sequential(nn.Linear(WIDTH, 4), nn.Tanh(), nn.Linear(4, WIDTH)).double()
            for _ in range(RANKS)
        ]
        for stage in made:
            draw_weights(stage, random)
        return made


@dataclass(frozen=True)
class TrainedStages:
    """What came of it.

    Attributes:
        plan: what was to be trained.
        ending: how it ended, if not as it should.
        weights: of each rank's stage, afterwards.
        changed: whether each rank has changed the batches that it was given.
    """

    plan: TwoStageRun
    ending: Ending | None = None
    weights: list[Any] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)


def cases() -> list[Case]:
    """One micro-batch and several, one step and several, a last micro-batch that is shorter."""
    plans = {
        "one batch of one micro-batch": TwoStageRun(((4,),), 0.1),
        "one batch of three equal micro-batches": TwoStageRun(((2, 2, 2),), 0.1),
        "one batch of micro-batches of 3, 3 and 1 rows": TwoStageRun(((3, 3, 1),), 0.1),
        "three batches of one micro-batch": TwoStageRun(((3,), (3,), (3,)), 0.1),
        "three batches of several micro-batches": TwoStageRun(((2, 2), (2, 1), (3, 1, 1)), 0.05),
        "a rate of 0, which leaves the weights where they are": TwoStageRun(((2, 2),), 0.0),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: TwoStageRun) -> tuple[np.ndarray, bool]:
    """Be one rank; its weights afterwards, and whether it has changed its batches."""
    stage, batches = plan.stages()[rank()], plan.batches()
    before = numbers(batches)
    answer(stage, batches, plan.lr)
    return flat_weights(stage), not np.array_equal(numbers(batches), before)


def numbers(batches: list[list[tuple[Tensor, Tensor]]]) -> np.ndarray:
    """All inputs and targets in one row."""
    return np.concatenate([one.detach().numpy().ravel() for b in batches for m in b for one in m])


def run(answer: Answer, case: Case) -> TrainedStages:
    """Train on simulated ranks."""
    plan: TwoStageRun = case.args[0]
    expected(case)  # the first step of an optimiser loads a part of torch: not on a rank's time
    ran = on_simulated_ranks(act, RANKS, answer, plan)
    if isinstance(ran, Ending):
        return TrainedStages(plan, ran)
    return gathered(plan, ran.results)


def gathered(plan: TwoStageRun, ranks: Sequence[Any]) -> TrainedStages:
    """What came of it, from what came of it on each rank."""
    weights, changed = zip(*ranks, strict=True)
    return TrainedStages(plan, None, list(weights), list(changed))


def expected(case: Case) -> TrainedStages:
    """One process with both stages and whole batches."""
    plan: TwoStageRun = case.args[0]
    stages = plan.stages()
    train_as_one(nn.Sequential(*stages), plan.batches(), functional.mse_loss, plan.lr)
    return TrainedStages(plan, None, [flat_weights(stage) for stage in stages])


def difference(got: TrainedStages, wanted: TrainedStages) -> str | None:
    """One sentence on the first stage that is not as one process has it, or None."""
    if got.ending:
        return got.ending.said
    for number, (found, right) in enumerate(zip(got.weights, wanted.weights, strict=True)):
        away = np.linalg.norm(found - right) / np.linalg.norm(right)
        if not away <= TOLERANCE:
            return (
                f"afterwards the weights of rank {number}'s stage are {away:.2g} away from those "
                f"of one process with both stages, relative to their length"
            )
    if True in got.changed:
        return f"the weights are right, but rank {got.changed.index(True)} changes its batches"
    return None


def judge(plan: TwoStageRun, ranks: list[Any]) -> str | None:
    """The same for real ranks."""
    return difference(gathered(plan, ranks), expected(Case("", (plan,))))


def works(ranks: int) -> Sequence[TwoStageRun]:
    """What real ranks train."""
    return [TwoStageRun(((3, 3, 1), (2, 2)), 0.1)]


def same_wait(one: TrainedStages, other: TrainedStages) -> bool:
    """Whether two outcomes are the same, down to who waits for whom."""
    return one.ending == other.ending and same(one, other)


def same(one: TrainedStages, other: TrainedStages) -> bool:
    """Whether two outcomes are the same numbers, or the same failure."""
    if one.ending or other.ending:
        if not (one.ending and other.ending):
            return False
        return (one.ending.kind, one.ending.waits) == (other.ending.kind, other.ending.waits)
    pairs = zip(one.weights, other.weights, strict=True)
    return one.changed == other.changed and all(
        np.allclose(a, b, rtol=1e-7, atol=1e-10, equal_nan=True) for a, b in pairs
    )


SHARE = " * share\n"
PART = "len(targets) / rows"
STEP = "        optimizer.step()"
ZERO = "        optimizer.zero_grad()\n"
GRADIENT = "send(entered.grad, to=0)"
EACH_STEP = {STEP: f"    {STEP}"}
LOST = {SHARE: "\n"}

answers.give({**LOST, **EACH_STEP})

TOO_LARGE = (
    "the gradient is too large, m times with m equal micro-batches: each loss is a mean over its "
    "own micro-batch, and m means are added. Weigh each by its share of the rows."
)
EARLY = (
    "the weights change after each micro-batch: the gradients of all micro-batches belong to the "
    "same weights, and one step follows the last of them."
)

answers.edit(
    {**LOST, **EACH_STEP},
    "there are two mistakes. Look when the weights change, and over which rows each loss is a "
    "mean.",
)
answers.edit(EACH_STEP, f"the losses are weighed, but {EARLY}")
answers.edit(LOST, f"there is one step for each batch, but {TOO_LARGE}")
answers.edit(
    {PART: "1 / len(batch)"},
    "each micro-batch counts 1/m, which is right for equal ones alone: the last one may have "
    "fewer rows, so count rows.",
)
answers.edit(
    {PART: "len(targets)"},
    "each loss is multiplied by its rows, and never divided by those of the batch: the gradient "
    "is that of a sum, not of a mean.",
)
answers.edit(
    {PART: "1 / rows"},
    "each loss is divided by the rows of the batch, and is a mean already: its share is its own "
    "rows by all rows.",
)
answers.edit(
    {ZERO: "", "    for batch in": "    optimizer.zero_grad()\n    for batch in"},
    "gradients are not set to zero before each batch, which adds to those of the batches before.",
)
answers.edit(
    {
        ZERO: "",
        "            if rank() == 0:\n": "            optimizer.zero_grad()\n"
        "            if rank() == 0:\n",
    },
    "gradients are set to zero before each micro-batch, and those of the last one alone are left.",
)
answers.edit(
    {STEP: "        if rank() == 1:\n            optimizer.step()"},
    "only rank 1 takes a step: the first stage never learns.",
)
answers.edit(
    {STEP: "        if rank() == 0:\n            optimizer.step()"},
    "only rank 0 takes a step: the second stage never learns.",
)
answers.edit(
    {GRADIENT: "send(entered.detach(), to=0)"},
    "rank 1 sends back what it was given, not its gradient: that is entered.grad.",
)
answers.edit(
    {"send(left.detach(), to=1)": "send(inputs, to=1)"},
    "rank 0 sends the inputs on, and what its stage made of them is never used.",
)
answers.edit(
    {".requires_grad_()": ""},
    "what arrives needs requires_grad_(): without it nothing on rank 1 asks for its gradient, and "
    "entered.grad stays None.",
)
answers.edit(
    {"recv(torch.empty_like(inputs), source=0)": "recv(inputs, source=0)"},
    "the weights are right, and rank 1 loses its inputs: recv writes into the tensor that it gets, "
    "here one of the batch. Give it an empty one.",
)
answers.edit(
    {GRADIENT: "pass"},
    "rank 1 never sends the gradient, for which rank 0 waits.",
)
answers.edit(
    {"left.backward(recv(torch.empty_like(left), source=1))": "left.sum().backward()"},
    "rank 0 goes back from the sum of its outputs, as if each had the gradient 1: it has to "
    "receive their gradient from rank 1.",
)
answers.edit(
    {", momentum=0.9": ""},
    "the momentum is gone: mend what is wrong, and leave the optimiser as it is.",
)
answers.edit(
    {SHARE: " * share\n", GRADIENT: "send(entered.grad / share, to=0)"},
    "the gradient that is sent back is divided by the share again: the second stage learns as it "
    "should, the first with gradients that are too large.",
)
answers.edit(
    {SHARE: "\n", GRADIENT: "send(entered.grad * share, to=0)"},
    "the gradient that is sent back is weighed, and rank 1's own gradients are not: weigh the "
    "loss, from which both come.",
)
answers.edit(
    {GRADIENT: "send(entered.grad * share, to=0)"},
    "the gradient that reaches rank 0 is multiplied by the share once more: the loss has it "
    "already, and with it all that goes back from it.",
)
answers.edit(
    {STEP: "    optimizer.step()"},
    "one step is taken after all batches, and the gradients of all but the last were set to zero: "
    "take one after each batch.",
)
answers.edit(
    {
        SHARE: "\n",
        "functional.mse_loss(stage(entered), targets)": (
            'functional.mse_loss(stage(entered), targets, reduction="sum") / rows'
        ),
    },
    "the squares are divided by the rows alone: mse_loss is a mean over all numbers, rows times "
    "columns.",
)

answers.variant(
    {
        "left.backward(recv(torch.empty_like(left), source=1))": (
            "(left * recv(torch.empty_like(left), source=1)).sum().backward()"
        )
    }
)
answers.variant(
    {
        SHARE: "\n",
        "                loss.backward()\n": "                (loss * share).backward()\n",
    }
)
answers.variant(
    {
        SHARE: "\n",
        PART: "targets.numel()",
        "functional.mse_loss(stage(entered), targets)": (
            "(stage(entered) - targets).square().sum() / (rows * share / len(targets))"
        ),
    }
)


EXERCISE = Exercise(
    task="Mend the program, so that two ranks with a stage each learn as one process.",
    reference=mend_the_pipeline,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same_wait, same),
    demand=demand_on_real_ranks(act, (RANKS,), works, judge),
)

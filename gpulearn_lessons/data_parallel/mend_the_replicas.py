"""A training on ranks that runs without an error and does not train one network: to be mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.one_process import draw_weights, flat_weights, train_as_one
from gpulearn.judge.ranks import Ending, apart, failed_alike, on_simulated_ranks, same_result
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.communicator import rank
from gpulearn.parallel.data_parallel import BucketedDataParallel
from gpulearn.parallel.torch_collectives import copy_from
from gpulearn.require import shown
from gpulearn_lessons.data_parallel.replicas import mend_the_replicas
from gpulearn_lessons.data_parallel.trial import torch_on_simulated_ranks

answers = Answers(mend_the_replicas)

TOLERANCE = 1e-9  # relative; all is in float64
OF_A_LOSS = 1e-5  # relative; what is only reported may be rounded to float32


@dataclass(frozen=True)
class ReplicaRun:
    """What the ranks train.

    Attributes:
        ranks: how many.
        rows: of each batch.
        lr: learning rate.
        again: whether the ranks have trained another model before.
    """

    ranks: int
    rows: tuple[int, ...]
    lr: float
    again: bool = False

    def batches(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The whole batches, the same on all ranks."""
        random = np.random.default_rng(self.rows)
        return [
            (
                torch.from_numpy(random.normal(size=(n, 3))),
                torch.from_numpy(random.integers(2, size=n)),
            )
            for n in self.rows
        ]

    def model(self, seed: int) -> nn.Module:
        """A small network in float64, with weights of its own for each seed."""
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
        draw_weights(model, np.random.default_rng(seed))
        return model


@dataclass(frozen=True)
class TrainedReplicas:
    """What came of it.

    Attributes:
        ending: how it ended, if not as it should.
        weights: of each rank, afterwards.
        losses: of each rank, as it returned them; described if they are no list of numbers.
        rows: how many each rank puts through its model.
        others: of these rows, how many are not its own.
        untrained: of these rows, how many go through a model in evaluation mode.
    """

    ending: Ending | None = None
    weights: list[Any] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    untrained: list[int] = field(default_factory=list)


def cases() -> list[Case]:
    """A rate of 0, equal parts and unequal ones, one rank to four."""
    plans = {
        "2 ranks and a rate of 0, which leaves all weights where they start": ReplicaRun(
            2, (4,), 0.0
        ),
        "2 ranks and one batch of 8 rows": ReplicaRun(2, (8,), 0.3),
        "2 ranks and three batches of 8, 8 and 5 rows": ReplicaRun(2, (8, 8, 5), 0.2),
        "3 ranks and batches of 9, 9 and 4 rows": ReplicaRun(3, (9, 9, 4), 0.2),
        "4 ranks and batches of 6 and 5 rows": ReplicaRun(4, (6, 5), 0.1),
        "2 ranks and two batches of 6 rows, after another model": ReplicaRun(2, (6, 6), 0.3, True),
        "1 rank": ReplicaRun(1, (4, 3), 0.2),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: ReplicaRun) -> tuple[Any, Any, int, int, int]:
    """Be one rank, with weights of its own at the start."""
    if plan.again:
        answer(plan.model(200 + rank()), plan.batches()[:1], plan.lr)
    model: Any = plan.model(100 + rank())
    rows: list[Any] = []
    modes: list[bool] = []

    def note(layer: nn.Module, given: Any, out: Any) -> None:
        rows.extend(given[0].tolist())
        modes.extend([layer.training] * len(given[0]))

    model[0].register_forward_hook(note)
    losses = answer(model, plan.batches(), plan.lr)
    own = [row for x, _ in plan.batches() for row in x[rank() :: plan.ranks].tolist()]
    others = sum(row not in own for row in rows)
    return flat_weights(model), numbers(losses), len(rows), others, modes.count(False)


def numbers(losses: Any) -> Any:
    """The losses as plain numbers; in words what else was given."""
    if not isinstance(losses, list | tuple):
        return shown(losses)
    try:
        return [float(one) for one in losses]
    except (TypeError, ValueError):
        return shown(losses)


def run(answer: Answer, case: Case) -> TrainedReplicas:
    """Train on simulated ranks."""
    plan: ReplicaRun = case.args[0]
    torch.optim.SGD(plan.model(0).parameters())  # torch loads much for its first; no rank's time
    with torch_on_simulated_ranks():
        ran = on_simulated_ranks(act, plan.ranks, answer, plan)
    if isinstance(ran, Ending):
        return TrainedReplicas(ran)
    return TrainedReplicas(None, *map(list, zip(*ran.results, strict=True)))


def expected(case: Case) -> TrainedReplicas:
    """One process with the whole batches."""
    plan: ReplicaRun = case.args[0]
    model = plan.model(100)
    rows = [sum(len(range(r, n, plan.ranks)) for n in plan.rows) for r in range(plan.ranks)]
    batches = ([whole] for whole in plan.batches())
    losses = train_as_one(model, batches, functional.cross_entropy, plan.lr)
    none = [0] * plan.ranks
    weights = [flat_weights(model)] * plan.ranks
    return TrainedReplicas(None, weights, [losses] * plan.ranks, rows, none, none)


def difference(got: TrainedReplicas, wanted: TrainedReplicas) -> str | None:
    """One sentence on the replicas, then on what they report, or None."""
    if got.ending:
        return got.ending.said
    for number, weights in enumerate(got.weights):
        if said := apart(number, weights, got.weights[0]):
            return said
    away = np.linalg.norm(got.weights[0] - wanted.weights[0]) / np.linalg.norm(wanted.weights[0])
    if not away <= TOLERANCE:
        return (
            f"the replicas are equal, and {away:.2g} away from one process with the whole batches, "
            f"relative to its weights"
        )
    for number, (rows, own) in enumerate(zip(got.rows, wanted.rows, strict=True)):
        if rows != own:
            return (
                f"rank {number} computes {rows} of the {sum(wanted.rows)} rows, and its own are "
                f"{own}: r, r + N, r + 2·N, … of every batch"
            )
        if got.others[number]:
            return (
                f"rank {number} computes {got.others[number]} rows that are another rank's: its "
                f"own are r, r + N, r + 2·N, … of every batch"
            )
        if got.untrained[number]:
            return (
                f"rank {number} trains with its model in evaluation mode, in which dropout and "
                f"batch normalisation do something else"
            )
    for number, (said, right) in enumerate(zip(got.losses, wanted.losses, strict=True)):
        if isinstance(said, str):
            return f"rank {number} returns {said}, expected a list of losses, one for each batch"
        if len(said) != len(right):
            return f"rank {number} returns {len(said)} losses, expected {len(right)}"
        for step, (one, other) in enumerate(zip(said, right, strict=True)):
            if not abs(one - other) <= OF_A_LOSS * abs(other):
                return (
                    f"rank {number} reports a loss of {one:.6g} for batch {step}, and the mean "
                    f"over the whole batch is {other:.6g}"
                )
    return None


@failed_alike
def same(one: TrainedReplicas, other: TrainedReplicas) -> bool:
    """Whether two outcomes are the same numbers, or the same failure."""
    modes = one.untrained == other.untrained
    return (one.rows, one.others, modes) == (other.rows, other.others, True) and all(
        map(same_result, [*one.weights, *one.losses], [*other.weights, *other.losses])
    )


START = "broadcast_weights(model)"
MINE = "range(rank(), len(targets), world_size())"
SHARE = "len(mine) / len(targets)"
WEIGH = "            parameter.grad *= share\n"
SUM = "sum_over_ranks(parameter.grad)"
STEP = "        optimizer.step()\n"
REPORT = "sum_over_ranks(share * loss.detach()).item()"
LOST = {WEIGH: "", SUM: "sum_over_ranks(parameter.grad * share)"}
SEEDED = {START: "torch.manual_seed(0)"}
OWN = {REPORT: "loss.item()"}

answers.give({**SEEDED, **LOST, **OWN})

OWN_STEPS = (
    "each rank steps by its own gradient: the sum has to be in parameter.grad between backward and "
    "step. (A product such as parameter.grad * share is a new tensor, and the sum goes there.)"
)
NEVER_ALIKE = (
    "the replicas do not begin alike. (A seed that is set when the model is there changes "
    "nothing.) Broadcast rank 0's weights before the first step."
)
OF_ONE_RANK = (
    "the replicas are right, and what each reports is the loss of its own rows: add up share · "
    "loss over the ranks."
)

answers.edit({**SEEDED, **LOST, **OWN}, f"there is more than one mistake: {OWN_STEPS}")
answers.edit({**SEEDED, **LOST}, f"there are two mistakes: {NEVER_ALIKE}")
answers.edit({**LOST, **OWN}, OWN_STEPS)
answers.edit(LOST, f"the losses are added up as they should be, and {OWN_STEPS}")
answers.edit({**SEEDED, **OWN}, NEVER_ALIKE)
answers.edit(SEEDED, f"the exchange is right, and {NEVER_ALIKE}")
answers.edit(OWN, OF_ONE_RANK)
answers.edit(
    {WEIGH: ""},
    "the gradients are added up without their shares: each is a mean over its own rows, and the "
    "sum of N of them is N times too long.",
)
answers.edit(
    {SHARE: "1 / world_size()"},
    "each rank counts 1/N, which is right for equal parts alone: in a batch of 5 rows one rank has "
    "3 and the other 2.",
)
answers.edit(
    {WEIGH: "            parameter.grad /= world_size()\n"},
    "each rank counts 1/N, also where the parts are unequal: weigh each rank's gradient by its "
    "share of the rows, as its loss is.",
)
answers.edit(
    {MINE: "range(len(targets))", SHARE: "1 / world_size()"},
    "each rank computes the whole batch: N ranks do N times the work of one. Rank r takes rows "
    "r, r + N, r + 2·N, …",
)
answers.edit(
    {
        MINE: "torch.arange(len(targets)).split(len(targets) // world_size())[rank()]",
    },
    "blocks of len(targets) // N rows leave out the rest of a batch that N does not divide.",
)
answers.edit(
    {MINE: "torch.arange(len(targets)).tensor_split(world_size())[rank()]"},
    "each rank takes a block of rows: rank r takes rows r, r + N, r + 2·N, …",
)
answers.edit(
    {
        WEIGH: "",
        f"            {SUM}\n": "            pass\n",
        STEP: (
            f"{STEP}        for parameter in model.parameters():\n"
            "            sum_over_ranks(parameter.data.mul_(share))\n"
        ),
    },
    "the weights are averaged after the step, and each rank keeps a velocity of its own: average "
    "the gradients before it, by their shares.",
)
answers.edit(
    {START: "broadcast_weights(model, root=world_size() - 1)"},
    "all begin with the last rank's weights: rank 0's are those that count.",
)
answers.edit(
    {
        MINE: "range(len(targets)) if rank() == 0 else []",
        "        loss = functional": (
            "        loss = sum(0 * parameter.sum() for parameter in model.parameters())\n"
            "        if mine:\n            loss = functional"
        ),
    },
    "rank 0 computes everything, and the others nothing: rank r takes rows r, r + N, r + 2·N, …",
)
answers.edit(
    {REPORT: "sum_over_ranks(loss.detach()).item()"},
    "the reported loss is the sum of the ranks' means: weigh each by its share of the rows.",
)
answers.edit(
    {REPORT: "(sum_over_ranks(loss.detach()) / world_size()).item()"},
    "the reported loss is an average of averages, each rank counted 1/N: weigh each by its share "
    "of the rows.",
)
answers.edit(
    {"        optimizer.zero_grad()\n": ""},
    "gradients are never set to zero: each step adds to those of the steps before, exchanged ones "
    "included.",
)
answers.edit(
    {", momentum=0.9": ""},
    "the momentum is gone: mend what is wrong, and leave the optimiser as it is.",
)
answers.edit(
    {START: f"{START}\n    model.eval()"},
    "model.eval() is for evaluation: this model has no layer that behaves otherwise then, but one "
    "with dropout or batch normalisation would. Leave it in training mode.",
)
answers.variant(
    {START: "for value in model.parameters():\n        copy_from(0, value.data)"},
    copy_from=copy_from,
)
answers.variant({REPORT: "sum_over_ranks((share * loss.detach()).float()).item()"})
answers.variant({WEIGH: "", SUM: "parameter.grad = sum_over_ranks(parameter.grad * share)"})
LOOP = (
    "        for parameter in model.parameters():\n"
    "            assert parameter.grad is not None  # every layer is used, on every rank\n"
)
answers.variant(
    {f"{LOOP}{WEIGH}            {SUM}\n": ("        average_gradients(model, len(mine))\n")},
    average_gradients=average_gradients,
)


@answers.right
def by_a_wrapper(model: Any, batches: Any, lr: float = 0.1) -> list[float]:
    from gpulearn.parallel.communicator import world_size
    from gpulearn.parallel.torch_collectives import sum_over_ranks

    replica, losses = BucketedDataParallel(model), []
    optimizer = torch.optim.SGD(replica.parameters(), lr=lr, momentum=0.9)
    for inputs, targets in batches:
        x, y = inputs[rank() :: world_size()], targets[rank() :: world_size()]
        optimizer.zero_grad()
        replica.weigh(len(y))
        total: Any = functional.cross_entropy(replica(x), y, reduction="sum")
        (total / len(y)).backward()
        replica.average()
        optimizer.step()
        losses.append(float(sum_over_ranks(total.detach())) / len(targets))
    return losses


EXERCISE = Exercise(
    task="Mend the program, so that N replicas learn as one process, and report its loss.",
    reference=mend_the_replicas,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same,),
)

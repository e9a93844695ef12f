"""A parameter server that never starts, and that counts gradients, not workers: to be mended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import (
    Ending,
    demand_on_real_ranks,
    failed_the_same,
    on_simulated_ranks,
    same_result,
)
from gpulearn.parallel.collectives import reduce
from gpulearn.parallel.communicator import compute, rank
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.synchronous_server import case_parameter_server

answers = Answers(case_parameter_server)

TOLERANCE = 1e-9  # relative; all is in float64
WIDTH = 4
LONGER = 1.1  # than the slowest worker of each step: sending takes little beside computing


@dataclass(frozen=True)
class ServerPlan:
    """What a server and its workers train.

    Attributes:
        seconds: that a gradient takes each worker.
        steps: how many.
        lr: learning rate.
    """

    seconds: tuple[float, ...]
    steps: int
    lr: float = 0.1

    def slope(self, weights: np.ndarray, worker: int, step: int) -> np.ndarray:
        """A worker's gradient in a step: it depends on all three."""
        shift = np.random.default_rng((worker, step)).normal(size=WIDTH)
        return (worker + 1) * weights + shift


@dataclass(frozen=True)
class RanServer:
    """What came of it.

    Attributes:
        plan: what was to be trained.
        ending: how it ended, if not as it should.
        weights: that each rank returned; described if they are none.
        asked: of each rank, the pairs (worker, step) whose gradient it computed.
        seconds: on the simulated clock; 0 on real ranks.
    """

    plan: ServerPlan
    ending: Ending | None = None
    weights: list[Any] = field(default_factory=list)
    asked: list[list[tuple[int, int]]] = field(default_factory=list)
    seconds: float = 0.0


def cases() -> list[Case]:
    """Workers alike and not, one and several, one step and several."""
    plans = {
        "three workers alike, one step": ServerPlan((0.1, 0.1, 0.1), 1),
        "three workers alike, four steps": ServerPlan((0.1, 0.1, 0.1), 4),
        "three workers, the first 50 times as fast, four steps": ServerPlan((0.01, 0.5, 0.5), 4),
        "three workers, the last 50 times as fast, three steps": ServerPlan((0.5, 0.5, 0.01), 3),
        "two workers of different speed, five steps": ServerPlan((0.2, 0.1), 5, 0.05),
        "one worker, three steps": ServerPlan((0.1,), 3),
    }
    return [Case(label, (plan,)) for label, plan in plans.items()]


def act(answer: Answer, plan: ServerPlan) -> tuple[Any, list[tuple[int, int]]]:
    """Be one rank."""
    asked: list[tuple[int, int]] = []

    def gradient(weights: Tensor, worker: int, step: int) -> Tensor:
        asked.append((int(worker), int(step)))
        compute(plan.seconds[rank() - 1] if rank() else 0.0)
        return torch.from_numpy(plan.slope(weights.detach().numpy(), worker, step))

    weights = torch.ones(WIDTH, dtype=torch.float64)
    returned = answer(weights, gradient, plan.steps, plan.lr)
    if isinstance(returned, Tensor) and returned.shape == weights.shape:
        return returned.detach().numpy().copy(), asked
    return shown(returned), asked


def run(answer: Answer, case: Case) -> RanServer:
    """Train on simulated ranks."""
    plan: ServerPlan = case.args[0]
    ran = on_simulated_ranks(act, len(plan.seconds) + 1, answer, plan)
    if isinstance(ran, Ending):
        return RanServer(plan, ran)
    weights, asked = map(list, zip(*ran.results, strict=True))
    return RanServer(plan, None, weights, asked, ran.seconds)


def expected(case: Case) -> RanServer:
    """One process that computes every worker's gradient in every step."""
    plan: ServerPlan = case.args[0]
    weights, workers = np.ones(WIDTH), range(len(plan.seconds))
    for step in range(plan.steps):
        total = sum(plan.slope(weights, worker, step) for worker in workers)
        weights = weights - plan.lr * total / len(workers)
    asked = [[(worker, step) for step in range(plan.steps)] for worker in workers]
    seconds = plan.steps * max(plan.seconds)
    return RanServer(plan, None, [weights] * (len(workers) + 1), [[], *asked], seconds)


def difference(got: RanServer, wanted: RanServer) -> str | None:
    """One sentence on who computed what, then on the weights, then on the time, or None."""
    if got.ending:
        return got.ending.said
    for number, (asked, right) in enumerate(zip(got.asked, wanted.asked, strict=True)):
        if asked == right:
            continue
        if not number:
            return (
                f"rank 0, the server, computes {len(asked)} gradients, which is the workers' work"
            )
        others = sorted({worker for worker, _ in asked} - {number - 1})
        if others:
            return f"rank {number} asks for the gradient of worker {others[0]}, and is {number - 1}"
        return (
            f"rank {number} computes {len(asked)} gradients, of steps "
            f"{', '.join(str(step) for _, step in asked[:6]) or 'none'}, expected one in each of "
            f"{len(right)} steps"
        )
    for number, weights in enumerate(got.weights):
        if isinstance(weights, str):
            return f"rank {number} returns {weights}, expected the weights"
        right_weights = wanted.weights[number]
        away = np.linalg.norm(weights - right_weights) / np.linalg.norm(right_weights)
        if not away <= TOLERANCE:
            return (
                f"rank {number} ends with weights that are {away:.2g} away from those of steps in "
                f"which each worker gives one gradient, relative to their length"
            )
    if got.seconds > LONGER * wanted.seconds:
        return (
            f"the weights are right, but it takes {got.seconds:.2g} s, and the slowest worker "
            f"alone {wanted.seconds:.2g} s: the workers wait for each other"
        )
    return None


def judge(plan: ServerPlan, ranks: list[Any]) -> str | None:
    """The same for real ranks, whose time nobody counts."""
    weights, asked = map(list, zip(*ranks, strict=True))
    return difference(RanServer(plan, None, weights, asked), expected(Case("", (plan,))))


@failed_the_same
def same(one: RanServer, other: RanServer) -> bool:
    """Whether two outcomes are the same numbers after as long, or the same failure."""
    slow = [ran.seconds > LONGER * expected(Case("", (ran.plan,))).seconds for ran in (one, other)]
    return (
        one.asked == other.asked
        and slow[0] == slow[1]
        and all(map(same_result, one.weights, other.weights))
    )


WORKER = (
    "    if rank() > 0:\n"
    "        for step in range(steps):\n"
    "            send(gradient(weights, rank() - 1, step), to=0)\n"
    "            recv(weights, source=0)\n"
    "        return weights\n"
)
SERVER = (
    "    for _ in range(steps):\n"
    "        arriving = [irecv(inbox[worker], worker) for worker in workers]\n"
    "        while arriving:\n"
    "            arriving.pop(wait_any(arriving)).wait()\n"
    "        weights -= lr * sum(inbox.values()) / len(workers)\n"
    "        for worker in workers:\n"
    "            send(weights, to=worker)\n"
    "    return weights"
)
# the same server for gradients that come one by one; what is said to whom stands behind `if`
ONE_BY_ONE = (
    "    arriving = {worker: irecv(inbox[worker], worker) for worker in workers}\n"
    "    got, left = [], dict.fromkeys(workers, steps)\n"
    "    while arriving:\n"
    "        first = list(arriving)[wait_any(list(arriving.values()))]\n"
    "        got.append(arriving.pop(first).wait().clone())\n"
    "        if len(got) == len(workers):\n"
    "            weights -= lr * sum(got) / len(got)\n"
    "            got = []\n"
)
ANSWER_FIRST = (
    "        send(weights, to=first)\n"
    "        left[first] -= 1\n"
    "        if left[first]:\n"
    "            arriving[first] = irecv(inbox[first], first)\n"
)
ANSWER_ALL = (
    "            for first in workers:\n"
    "                send(weights, to=first)\n"
    "                left[first] -= 1\n"
    "                if left[first]:\n"
    "                    arriving[first] = irecv(inbox[first], first)\n"
)
END = "    return weights"
GRADIENTS = ONE_BY_ONE + ANSWER_FIRST + END
WORKER_0 = WORKER.replace("rank() - 1", "0")
BEHIND = WORKER_0.replace("        return weights\n", "")

answers.give({WORKER: "", SERVER: ONE_BY_ONE + ANSWER_FIRST + BEHIND + END})

NEVER_STARTS = (
    "every rank first does the server's half, and waits there for gradients that nobody computes, "
    "since the workers' half stands behind it: let a rank's number say which half is its own."
)
ALL_0 = (
    "every worker computes what is worker 0's, so that its part of the data is used by all and the "
    "others' by nobody: worker r − 1 is rank r."
)
SO_MANY = (
    "the server waits for as many gradients as there are workers, whoever they are from: a quick "
    "worker gives several to one step. Answer nobody before each has given one."
)

answers.edit(
    {WORKER: "", SERVER: ONE_BY_ONE + ANSWER_FIRST + BEHIND + END},
    f"there is more than one mistake, and the first is that {NEVER_STARTS}",
)
answers.edit({WORKER: WORKER_0, SERVER: GRADIENTS}, f"{ALL_0} (That is not all.)")
answers.edit({SERVER: GRADIENTS}, SO_MANY)
answers.edit({WORKER: WORKER_0}, ALL_0)
answers.edit(
    {WORKER: WORKER.replace("rank() - 1", "rank()")},
    "workers are counted from 0, and rank 0 is the server: rank r is worker r − 1.",
)
answers.edit(
    {
        "        arriving = [irecv(inbox[worker], worker) for worker in workers]\n"
        "        while arriving:\n            arriving.pop(wait_any(arriving)).wait()\n": (
            "        for _ in workers:\n"
            "            irecv(inbox[workers[0]], workers[0]).wait()\n"
            "            send(weights, to=workers[0])\n"
        ),
        "        for worker in workers:\n            send(weights, to=worker)\n": "",
    },
    "the server speaks to one worker alone, and the others wait for ever.",
)
answers.edit(
    {" / len(workers)": ""},
    "the gradients are added up, and not divided by the number of workers.",
)
answers.edit(
    {" / len(workers)": " / world_size()"},
    "the sum is divided by the number of ranks, and one of them is the server: divide by the "
    "number of workers.",
)
answers.edit(
    {
        "        while arriving:\n            arriving.pop(wait_any(arriving)).wait()\n"
        "        weights -= lr * sum(inbox.values()) / len(workers)\n"
        "        for worker in workers:\n            send(weights, to=worker)\n": (
            "        for worker, handle in zip(workers, arriving, strict=True):\n"
            "            handle.wait()\n"
            "            weights -= lr * inbox[worker] / len(workers)\n"
            "            send(weights, to=worker)\n"
        )
    },
    "each gradient is applied when it comes, and its worker goes on with weights that lack the "
    "others' of this step: wait for all, then move the weights once.",
)
answers.edit(
    {
        "            send(gradient(weights, rank() - 1, step), to=0)\n"
        "            recv(weights, source=0)\n": (
            "            recv(weights, source=0)\n"
            "            send(gradient(weights, rank() - 1, step), to=0)\n"
        ),
        "        arriving = [irecv(inbox[worker], worker) for worker in workers]\n"
        "        while arriving:\n            arriving.pop(wait_any(arriving)).wait()\n": (
            "        for worker in workers:\n"
            "            send(weights, to=worker)\n"
            "            irecv(inbox[worker], worker).wait()\n"
        ),
        "        for worker in workers:\n            send(weights, to=worker)\n": "",
    },
    "the server asks one worker after another, and waits for each before it asks the next: their "
    "times add up. (And the last weights reach nobody.)",
)
SEND_ALL = "        for worker in workers:\n            send(weights, to=worker)\n"
answers.edit(
    {
        "            send(gradient(weights, rank() - 1, step), to=0)\n"
        "            recv(weights, source=0)\n": (
            "            recv(weights, source=0)\n"
            "            send(gradient(weights, rank() - 1, step), to=0)\n"
        ),
        "    for _ in range(steps):\n": f"    for _ in range(steps):\n{SEND_ALL}",
        f"        weights -= lr * sum(inbox.values()) / len(workers)\n{SEND_ALL}": (
            "        weights -= lr * sum(inbox.values()) / len(workers)\n"
        ),
    },
    "each step begins with the weights of the step before, and nobody sends those of the last: "
    "the workers return weights that lack it.",
)
answers.edit(
    {"        for worker in workers:\n            send(weights, to=worker)\n": ""},
    "the server never answers, and the workers wait for weights.",
)
answers.edit(
    {
        "    for _ in range(steps):\n": "    for step in range(steps):\n",
        "            send(weights, to=worker)\n": (
            "            if step < steps - 1:\n                send(weights, to=worker)\n"
        ),
    },
    "after the last step the server does not answer, and the workers wait for the last weights.",
)
answers.edit(
    {"            recv(weights, source=0)\n": ""},
    "the workers never take the new weights, and the server waits until somebody does.",
)

answers.variant({SERVER: ONE_BY_ONE + ANSWER_ALL + END})
answers.variant(
    {
        "        while arriving:\n            arriving.pop(wait_any(arriving)).wait()\n": (
            "        for handle in arriving:\n            handle.wait()\n"
        ),
    }
)


@answers.right
def by_a_reduce(weights: Any, gradient: Any, steps: int, lr: float) -> Any:
    from gpulearn.parallel.collectives import broadcast
    from gpulearn.parallel.communicator import world_size

    for step in range(steps):
        part = torch.zeros_like(weights)
        if rank() > 0:
            part += gradient(weights, rank() - 1, step)
        reduce(part, 0)
        if rank() == 0:
            weights -= lr / (world_size() - 1) * part
        broadcast(weights, 0)
    return weights


EXERCISE = Exercise(
    task="Mend the program, so that each step has one gradient of every worker.",
    reference=case_parameter_server,
    cases=cases,
    answers=answers,
    run=run,
    by_hand=False,
    expect=expected,
    difference=difference,
    kinships=(same,),
    demand=demand_on_real_ranks(
        act, (3,), lambda ranks: [ServerPlan((0.1,) * (ranks - 1), 3)], judge
    ),
)

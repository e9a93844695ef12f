"""Hooks that count: when a bucket of gradients may begin its journey."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.data_parallel import send_when_full
from gpulearn.require import shown

Groups = tuple[tuple[int, ...], ...]  # the numbers of the parameters in each bucket
Begun = tuple[Any, int]  # what `begin` was given, and how many gradients were there by then


@dataclass(frozen=True)
class HooksOutcome:
    """The backward passes with an answer's hooks."""

    groups: Groups  # the buckets
    # for each `backward`, the parameters in the order in which their gradients came
    ready: tuple[tuple[int, ...], ...] = ()
    begun: tuple[tuple[Begun, ...], ...] = ()  # for each `backward`, which buckets began, and when
    stays: bool = False  # whether a bucket began after the hooks had been taken off
    fault: str = ""  # what is wrong with what it returned, if anything
    changed: int = 0  # in which `backward` gradients are not what torch makes of them; 0 for none
    gone: bool = False  # whether one of these is None or zero then


def chain() -> nn.Module:
    """Three layers: parameters 0 to 5, whose gradients come from the last to the first."""
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))


def tied() -> nn.Module:
    """Two layers with one weight: parameters 0, 1 and 2."""
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second)


def cases() -> list[Case]:
    """Buckets in the order of backward and not, of one gradient and of all; three backwards.

    Between them gradients are set to None or to zero, or they are added up.
    """
    works: dict[str, tuple[Callable[[], nn.Module], Groups, str]] = {
        "three buckets of two": (chain, ((5, 4), (3, 2), (1, 0)), "None"),
        "buckets of 1, 2 and 3 gradients": (chain, ((5,), (4, 3), (2, 1, 0)), "None"),
        "one bucket": (chain, ((5, 4, 3, 2, 1, 0),), "None"),
        "buckets that fill in the wrong order": (chain, ((1, 0), (5, 4), (3, 2)), "None"),
        "a bucket that waits for one before it": (chain, ((5, 2), (4, 3), (1, 0)), "None"),
        "a bucket for each gradient": (chain, ((5,), (4,), (3,), (2,), (1,), (0,)), "None"),
        "gradients that are set to zero and not to None": (
            chain, ((5, 4), (3, 2, 1, 0)), "zero",
        ),
        "gradients that are added up": (chain, ((5, 4), (3, 2, 1, 0)), "added up"),
        "a weight that two layers share": (tied, ((2, 1), (0,)), "None"),
        "buckets whose last gradient comes before the others": (
            chain, ((4, 5), (2, 3), (0, 1)), "None",
        ),
        "hooks on two models, of which one goes backward": (chain, ((5, 4), (3, 2, 1, 0)), "None"),
        "gradients of which some are zero": (
            lambda: nn.Sequential(nn.Linear(3, 4), nn.Hardshrink(1e3), nn.Linear(4, 2)),
            ((3, 2), (1, 0)), "None",
        ),
        "no buckets": (chain, (), "None"),
    }  # fmt: skip
    return [Case(label, work) for label, work in works.items()]


def run(answer: Answer, case: Case) -> HooksOutcome:
    """Put the hooks on, go backward three times, take them off, and go once more."""
    build, groups, between = case.args
    model, log = numbered(build()), BackwardLog()
    twin, changed, gone = numbered(build()), 0, False
    parameters: list[Any] = list(model.parameters())
    for number, parameter in enumerate(parameters):
        parameter.register_post_accumulate_grad_hook(partial(log.gradient, number))
    buckets = [[parameters[number] for number in group] for group in groups]
    handles = answer(buckets, log.begin)
    fault = no_handles(handles, sum(map(len, groups)))
    if "two models" in case.label:
        others = list(build().parameters())
        answer([[others[number] for number in group] for group in groups[::-1]], log.begin)
    for turn in range(1, 4):
        log.next()
        for network in (twin, model):
            if between != "added up":
                network.zero_grad(set_to_none=between == "None")
            network(torch.ones(2, 3)).sum().backward()
        if not changed and not all(map(equal, gradients(model), gradients(twin))):
            changed = turn
            gone = any(g is None or not g.any() for g in gradients(model))
    ready, begun = map(tuple, log.ready), map(tuple, log.begun)
    ran = HooksOutcome(groups, tuple(ready), tuple(begun), fault=fault, changed=changed, gone=gone)
    if fault:
        return ran
    for handle in handles:
        handle.remove()
    log.next()
    model(torch.ones(2, 3)).sum().backward()
    return replace(ran, stays=bool(log.begun[-1]))


def gradients(model: nn.Module) -> list[Tensor | None]:
    return [p.grad for p in model.parameters()]


def equal(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether two gradients are the same numbers, or both are missing."""
    if one is None or other is None:
        return one is other
    return torch.equal(one, other)


class BackwardLog:
    """What happens during each `backward`."""

    def __init__(self) -> None:
        self.ready: list[list[int]] = []
        self.begun: list[list[Begun]] = []

    def next(self) -> None:
        self.ready.append([])
        self.begun.append([])

    def gradient(self, number: int, parameter: Tensor) -> None:
        self.ready[-1].append(number)

    def begin(self, number: Any) -> None:
        known = number if isinstance(number, int) else shown(number)
        if not self.begun:
            self.next()
        self.begun[-1].append((known, len(self.ready[-1])))


def numbered(model: nn.Module) -> nn.Module:
    """A model with known weights, none of them zero."""
    random = np.random.default_rng(1)
    for parameter in model.parameters():
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(random.uniform(0.1, 1.0, parameter.shape)))
    return model


def no_handles(handles: Any, count: int) -> str:
    """What is wrong with what was returned, or nothing."""
    if handles is None:
        return (
            "it returns nothing (None), expected the handles of the hooks, to take them off again"
        )
    if not isinstance(handles, list | tuple):
        return f"it returns {shown(handles)}, expected a list of the hooks' handles"
    if len(handles) != count or not all(hasattr(handle, "remove") for handle in handles):
        return (
            f"it returns {len(handles)} things, expected {count} handles, one of each parameter's "
            f"hook"
        )
    return ""


def difference(got: HooksOutcome, want: HooksOutcome) -> str | None:
    turns = enumerate(zip(got.begun, want.begun, strict=True), start=1)
    for turn, (value, right) in turns:
        if value == right:
            continue
        where = f"in backward number {turn}, "
        ready = want.ready[turn - 1]
        for (bucket, there), (other, when) in zip(value, right, strict=False):
            if bucket != other:
                begun = ", ".join(str(bucket) for bucket, _ in value[:8])
                order = ", ".join(str(bucket) for bucket, _ in right)
                return f"{where}buckets begin in the order {begun}, expected {order}"
            if there != when:
                size = len(want.groups[other])
                have = len(set(ready[:there]) & set(want.groups[other]))
                return (
                    f"{where}bucket {other} begins when the number of gradients is {there}, with "
                    f"{have} of its own {size}; expected {when}"
                )
        return f"{where}the number of buckets that begin is {len(value)}, expected {len(right)}"
    if got.changed:
        return (
            f"in backward number {got.changed}, the gradients are not what torch has made of them: "
            f"leave them as they are"
        )
    if got.fault:
        return got.fault
    if got.stays:
        return "buckets begin after handle.remove() of all that it returned"
    return None


EXERCISE = Exercise(
    task="Begin each bucket during backward, as soon as it is full and those before it have begun.",
    reference=send_when_full,
    cases=cases,
    run=run,
    difference=difference,
    kinships=(operator.eq,),
)

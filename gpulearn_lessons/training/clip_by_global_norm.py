"""Gradient clipping: one factor for all gradients, so that their common norm has a limit."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import clip_by_global_norm
from gpulearn_lessons.training.trial import Seen, flat, number, same

answers = Answers(clip_by_global_norm)
Gradients = tuple[tuple[float, ...] | None, ...]
JOINED = "Take each gradient's norm, or flatten it first, whatever its axes."
SHAPES = ((2, 1, 3, 2), (2, 3), (), (4,))  # of a convolution, a linear layer, a scale, a bias


def cases() -> list[Case]:
    """Norms above, below and at the limit, zero; two sizes; a parameter without gradient."""
    several: Gradients = ((3.0, -4.0, 0.5), (12.0,), (0.0, -2.0))
    work: tuple[tuple[str, Gradients, float], ...] = (
        ("a norm of 13.16 and a limit of 2", several, 2.0),
        ("a norm of 0.5 and a limit of 2", ((0.3,), (0.0, -0.4)), 2.0),
        ("a norm exactly at the limit", ((3.0,), (4.0,)), 5.0),
        ("a norm of 26 and a limit of 6", ((10.0, 24.0),), 6.0),
        ("a norm of 0.1 and a limit of 0.01", ((0.06,), (-0.08,)), 0.01),
        ("gradients that are all zero", ((0.0, 0.0), (0.0,)), 1.0),
        ("a parameter that has no gradient", ((6.0,), None, (8.0, 0.0)), 1.0),
        ("gradients each below the limit, not together", ((0.9,), (0.9,), (0.9, 0.1)), 1.0),
        ("a gradient that holds inf", ((3.0, float("inf")), (-4.0,)), 2.0),
        ("a gradient that holds nan", ((3.0, float("nan")), (-4.0,)), 2.0),
    )
    return [Case(label, (gradients, most)) for label, gradients, most in work]


def many_axes(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What a right answer does with gradients of 4, 2, no and 1 axes, above and below the limit."""
    numbers = tuple(tuple(0.5 * k - 2.0 for k in range(math.prod(one))) for one in SHAPES)
    for most in (3.0, 300.0):
        case = Case(
            f"gradients of 4, 2, 0 and 1 axes and a limit of {most:g}", (numbers, most, SHAPES)
        )
        try:
            seen = run(answer, case)
        except Exception as error:  # as many ways as there are to join what cannot be joined
            said = str(error).strip().partition("\n")[0]
            return f"for {case.label}, it raises {type(error).__name__}: {said}. {JOINED}"
        if sentence := difference(seen, run(clip_by_global_norm, case)):
            return f"for {case.label}, {sentence}. {JOINED}"
    return None


def run(answer: Answer, case: Case) -> Seen:
    """Clip once; the parameters come as a generator, as model.parameters() gives them."""
    gradients, most, *_ = case.args
    parameters = fresh(case)
    before, grads = flat(parameters), flat(p.grad for p in parameters)
    returned = answer((p for p in parameters), most)
    facts: dict[str, Any] = {
        "what happens to the parameters": "nothing"
        if (flat(parameters) == before).all()
        else "they change",
        "the gradients afterwards": flat(p.grad for p in parameters),
        "the norm that it returns": number(returned),
    }
    finite = all(math.isfinite(g) for one in gradients for g in one or ())
    nothing = np.array_equal(flat(p.grad for p in parameters), grads, equal_nan=True)
    return Seen(facts, ways=(finite, nothing and clips_a_list(answer, case)))


def fresh(case: Case) -> list[torch.nn.Parameter]:
    """The parameters of a case, with their gradients."""
    gradients, _, *rest = case.args
    shapes = rest[0] if rest else [(len(one) if one else 2,) for one in gradients]
    parameters = []
    for number_of, (gradient, shape) in enumerate(zip(gradients, shapes, strict=True)):
        parameter = torch.nn.Parameter(torch.full(shape, 1.0 + number_of, dtype=torch.float64))
        if gradient is not None:
            parameter.grad = torch.tensor(gradient, dtype=torch.float64).reshape(shape)
        parameters.append(parameter)
    return parameters


def clips_a_list(answer: Answer, case: Case) -> bool:
    """Whether gradients change where the parameters are a list, which can be gone through twice."""
    parameters = fresh(case)
    before = flat(p.grad for p in parameters)
    answer(parameters, case.args[1])
    return not np.array_equal(flat(p.grad for p in parameters), before, equal_nan=True)


# torch divides by norm + 1e-6, and who does so too is right
difference = functools.partial(same, tolerance=2e-5)


def alike(one: Any, other: Any) -> bool:
    return difference(one, other) is None and one.ways == other.ways


def alike_where_finite(one: Any, other: Any) -> bool:
    """A looser view: what else is wrong is the same, whatever becomes of inf and nan."""
    return not other.ways[0] or alike(one, other)


GRADIENTS = "    gradients = "
NORM = "torch.stack([g.norm() for g in gradients]).norm()"
TOO_LONG = 'max_norm < norm < float("inf")'
FACTOR = "max_norm / norm"

answers.edit(
    {FACTOR: "min(1, max_norm / gradient.norm())"},
    "each gradient is clipped by a norm of its own, which turns the step's direction: one norm "
    "over all, one factor for all.",
)
answers.edit(
    {f"mul_({FACTOR})": "clamp_(-max_norm, max_norm)"},
    "each element is cut at ± max_norm, which turns the step's direction: scale all by one factor.",
)
answers.edit(
    {NORM: "sum(g.norm() for g in gradients)"},
    "the gradients' norms are added up; the norm of all elements together is the root of the sum "
    "of their squares.",
)
answers.edit(
    {TOO_LONG: "norm > 0"},
    "small gradients are scaled up to max_norm: leave them where the norm is below it.",
)
answers.edit(
    {f"float({NORM})": NORM, TOO_LONG: "True"},
    "all gradients are scaled to max_norm, also small ones, and zero divided by zero is no number: "
    "scale only where the norm is above max_norm.",
)
answers.edit(
    {NORM: "sum((g**2).sum() for g in gradients)"},
    "that is the norm's square: the root is missing.",
)
answers.edit(
    {NORM: "max(g.abs().max() for g in gradients)"},
    "that is the largest element; the norm is the root of the sum of all elements' squares.",
)
answers.edit(
    {NORM: "max(g.norm() for g in gradients)"},
    "that is the largest of the gradients' norms; the norm of all together is the root of the "
    "sum of all elements' squares.",
)
answers.edit(
    {NORM: "gradients[-1].norm()"},
    "that is the norm of the last gradient alone: add up the squares of all.",
)
answers.edit(
    {NORM: "sum(g.abs().sum() for g in gradients)"},
    "that is the sum of the elements' magnitudes: square them, add up, take the root.",
)
answers.edit(
    {NORM: "torch.cat([g.flatten() for g in gradients]).square().mean().sqrt()"},
    "that is the root of the mean of the squares, not of their sum.",
)
answers.edit(
    {"return norm": "return min(norm, max_norm)"},
    "the gradients are right; what it returns is the norm after clipping, not before.",
)
answers.edit(
    {FACTOR: "norm / max_norm"},
    "the factor is upside down: multiply by max_norm / norm, which is below one.",
)
answers.edit(
    {FACTOR: "1 / norm"},
    "long gradients become 1 long, whatever max_norm is: multiply by max_norm / norm.",
)
answers.edit(
    {FACTOR: "max_norm"},
    "the gradients become max_norm times as long: divide them by their norm as well.",
)
answers.edit(
    {"in gradients:": "in [p.grad for p in parameters]:"},
    "the norm is right, and no gradient has changed: a second loop over `parameters` finds "
    "nothing, since model.parameters() is a generator. Make a list first.",
)
answers.edit(
    {f"gradient.mul_({FACTOR})": f"gradient = gradient * ({FACTOR})"},
    "the norm is right, and no gradient has changed: scale each in place, with mul_.",
)
answers.edit(
    {
        GRADIENTS: f"    parameters = list(parameters)\n{GRADIENTS}",
        NORM: "torch.cat([p.detach() for p in parameters]).norm()",
    },
    "that is the norm of the parameters: take each one's .grad.",
)
answers.edit(
    {
        GRADIENTS: f"    parameters = list(parameters)\n{GRADIENTS}",
        "in gradients:": "in [p.data for p in parameters]:",
    },
    "it scales the parameters themselves: scale each one's .grad.",
)
answers.edit(
    {" if p.grad is not None": ""},
    "a parameter that has no part in the loss has no gradient, its .grad is None: pass it over.",
)
answers.edit(
    {"    return norm": ""},
    "the gradients are right; it returns nothing: return the norm before clipping.",
)
answers.edit(  # first of those that are right where all is finite: they differ in what comes else
    {"[p.grad for": "[p.grad.nan_to_num_(0.0, 0.0, 0.0) for"},
    "all is right where the norm is finite, and not where a gradient holds inf or nan: leave all "
    "gradients as they are there, and return the norm as it is, inf or nan.",
)
answers.edit(
    {TOO_LONG: "norm > max_norm"},
    "max_norm divided by a norm of inf or nan is 0 or no number, and so is what it multiplies: "
    "leave all gradients as they are where the norm is not finite.",
)
answers.edit(
    {TOO_LONG: "not norm <= max_norm"},
    "where the norm is inf or nan, the factor is 0 or no number, and the gradients are lost: leave "
    "them as they are there. (torch's own clip_grad_norm_ loses them, too.)",
)
answers.edit(
    {TOO_LONG: "not norm <= max_norm", f"({FACTOR})": f"({FACTOR}).nan_to_num_()"},
    "where the norm is inf or nan, it sets the gradients to zero: leave them as they are there. "
    "The caller gets the norm, and can leave the step out.",
)


@answers.right
def as_torch_does(parameters: Any, max_norm: float) -> Any:
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
    if torch.isfinite(norm):
        for gradient in gradients:
            gradient.mul_(factor)
    return norm


@answers.right
def with_new_gradients(parameters: Any, max_norm: float) -> Any:
    known = [p for p in parameters if p.grad is not None]
    norm = sum((p.grad**2).sum().item() for p in known) ** 0.5
    if max_norm <= norm < math.inf:
        for parameter in known:
            parameter.grad = parameter.grad * max_norm / norm
    return norm


EXERCISE = Exercise(
    task="Scale all gradients by one factor so that their common norm is at most max_norm.",
    reference=clip_by_global_norm,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    demand=many_axes,
    kinships=(alike, alike_where_finite),
)

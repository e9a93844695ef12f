"""Gradient clipping: one factor for all gradients, to limit their global norm."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answer, where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.step import clip_by_global_norm
from gpulearn_lessons.training.trial import Outcome, flat, number, same

Gradients = tuple[tuple[float, ...] | None, ...]
COPIED = (
    "Where memory is not contiguous, reshape(-1) and flatten() copy: scale the gradient itself."
)
JOINED = "Use each gradient's own norm, or reshape(-1) it first; view(-1) needs contiguous memory."
# of a convolution, whose gradient is stored channels last; a linear layer, a scale, a bias
SHAPES = ((2, 2, 3, 2), (2, 3), (), (4,))


def cases() -> list[Case]:
    """Norms above, below and at the limit, or zero; a parameter without gradient."""
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
    """What a right answer does with 4, 2, 0 and 1 axes and another layout in memory."""
    numbers = tuple(tuple(0.5 * k - 2.0 for k in range(math.prod(shape))) for shape in SHAPES)
    for most in (3.0, 300.0):
        case = Case(
            f"gradients of 4, 2, 0 and 1 axes and a limit of {most:g}", (numbers, most, SHAPES)
        )
        outcome = _run_or_raised(answer, case)
        raised = isinstance(outcome, str)
        if sentence := outcome if raised else difference(outcome, run(clip_by_global_norm, case)):
            return f"for {case.label}, {sentence}. {JOINED if raised else COPIED}"
    return None


@where_it_runs
def _run_or_raised(answer: Answer, case: Case) -> Outcome | str:
    try:
        return run(answer, case)
    except Exception as error:
        message = str(error).strip().partition("\n")[0].rstrip(".")
        return f"it raises {type(error).__name__}: {message}"


def run(answer: Answer, case: Case) -> Outcome:
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
    finite = all(math.isfinite(g) for gradient in gradients for g in gradient or ())
    nothing = np.array_equal(flat(p.grad for p in parameters), grads, equal_nan=True)
    return Outcome(facts, ways=(finite, nothing and clips_a_list(answer, case)))


def fresh(case: Case) -> list[torch.nn.Parameter]:
    gradients, _, *rest = case.args
    shapes = rest[0] if rest else [(len(gradient) if gradient else 2,) for gradient in gradients]
    parameters = []
    for number_of, (gradient, shape) in enumerate(zip(gradients, shapes, strict=True)):
        parameter = torch.nn.Parameter(torch.full(shape, 1.0 + number_of, dtype=torch.float64))
        if gradient is not None:
            grad = torch.tensor(gradient, dtype=torch.float64).reshape(shape)
            layout = torch.channels_last if grad.ndim == 4 else torch.contiguous_format
            parameter.grad = grad.contiguous(memory_format=layout)
        parameters.append(parameter)
    return parameters


def clips_a_list(answer: Answer, case: Case) -> bool:
    """Whether gradients change if the parameters are a list, which two loops can use."""
    parameters = fresh(case)
    before = flat(p.grad for p in parameters)
    answer(parameters, case.args[1])
    return not np.array_equal(flat(p.grad for p in parameters), before, equal_nan=True)


# torch divides by norm + 1e-6, which is right, too
difference = functools.partial(same, tolerance=2e-5)


def alike(one: Any, other: Any) -> bool:
    return difference(one, other) is None and one.ways == other.ways


def alike_where_finite(one: Any, other: Any) -> bool:
    """A looser view, without the cases of inf and nan."""
    return not other.ways[0] or alike(one, other)


EXERCISE = Exercise(
    task="Scale all gradients by one factor so that their global norm is at most max_norm.",
    reference=clip_by_global_norm,
    cases=cases,
    run=run,
    difference=difference,
    demand=many_axes,
    kinships=(alike, alike_where_finite),
)

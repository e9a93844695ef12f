"""One factor for all gradients, so that their common norm has a limit."""

from __future__ import annotations

import math
from typing import Any

import torch

from gpulearn.checker.answers import Answer, Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.training.trial import Seen, flat, number, same
from gpulearn.train.step import clip_by_global_norm

__all__ = ["EXERCISE"]

answers = Answers()
Gradients = tuple[tuple[float, ...] | None, ...]


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


def run(answer: Answer, case: Case) -> Seen:
    """Clip once; the parameters come as a generator, as model.parameters() gives them."""
    gradients, most = case.args
    parameters = []
    for number_of, gradient in enumerate(gradients):
        size = len(gradient) if gradient else 2
        parameter = torch.nn.Parameter(torch.full((size,), 1.0 + number_of, dtype=torch.float64))
        if gradient is not None:
            parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        parameters.append(parameter)
    before = flat(parameters)
    returned = answer((p for p in parameters), most)
    facts: dict[str, Any] = {
        "what happens to the parameters": "nothing"
        if (flat(parameters) == before).all()
        else "they change",
        "the gradients afterwards": flat(p.grad for p in parameters),
        "the norm that it returns": number(returned),
    }
    return Seen(facts, ways=tuple(g for one in gradients for g in one or ()))


def difference(got: Any, expected: Any) -> str | None:
    """Compare; torch divides by norm + 1e-6, and who does so too is right."""
    return same(got, expected, tolerance=2e-5)


def alike(one: Any, other: Any) -> bool:
    return difference(one, other) is None


def alike_where_finite(one: Any, other: Any) -> bool:
    """A looser view: what else is wrong is the same, whatever becomes of inf and nan."""
    return not all(map(math.isfinite, other.ways)) or alike(one, other)


def gradients_of(parameters: Any) -> list[Any]:
    return [p.grad for p in parameters if p.grad is not None]


def norm_of(gradients: list[Any]) -> float:
    return float(torch.cat(gradients).norm())


def scale(gradients: list[Any], factor: float) -> None:
    for gradient in gradients:
        gradient.mul_(factor)


@answers.wrong(
    "each gradient is clipped by a norm of its own, which turns the step's direction: one norm "
    "over all, one factor for all."
)
def each_by_itself(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    for gradient in gradients:
        if gradient.norm() > max_norm:
            gradient.mul_(max_norm / gradient.norm())
    return norm


@answers.wrong(
    "each element is cut at ± max_norm, which turns the step's direction: scale all by one factor."
)
def clips_elements(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    for gradient in gradients:
        gradient.clamp_(-max_norm, max_norm)
    return norm


@answers.wrong(
    "the gradients' norms are added up; the norm of all elements together is the root of the sum "
    "of their squares."
)
def sum_of_norms(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = float(sum(g.norm() for g in gradients))
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("small gradients are scaled up to max_norm: leave them where the norm is below it.")
def scales_up(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > 0:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong(
    "all gradients are scaled to max_norm, also small ones, and zero divided by zero is no number: "
    "scale only where the norm is above max_norm."
)
def scales_always(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = torch.cat(gradients).norm()
    for gradient in gradients:
        gradient.mul_(max_norm / norm)
    return norm


@answers.wrong("that is the norm's square: the root is missing.")
def without_root(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = float(sum((g**2).sum() for g in gradients))
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong(
    "that is the largest element; the norm is the root of the sum of all elements' squares."
)
def largest_element(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = max(float(g.abs().max()) for g in gradients)
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong(
    "that is the largest of the gradients' norms; the norm of all together is the root of the "
    "sum of all elements' squares."
)
def largest_norm(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = max(float(g.norm()) for g in gradients)
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("that is the norm of the last gradient alone: add up the squares of all.")
def last_norm(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = float(gradients[-1].norm())
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("that is the sum of the elements' magnitudes: square them, add up, take the root.")
def magnitudes(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = float(sum(g.abs().sum() for g in gradients))
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("that is the root of the mean of the squares, not of their sum.")
def root_mean_square(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = float(torch.cat(gradients).square().mean().sqrt())
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("the gradients are right; what it returns is the norm after clipping, not before.")
def clipped_norm(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return min(norm, max_norm)


@answers.wrong("the factor is upside down: multiply by max_norm / norm, which is below one.")
def upside_down(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm:
        scale(gradients, norm / max_norm)
    return norm


@answers.wrong("long gradients become 1 long, whatever max_norm is: multiply by max_norm / norm.")
def to_one(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm:
        scale(gradients, 1 / norm)
    return norm


@answers.wrong("the gradients become max_norm times as long: divide them by their norm as well.")
def times_the_limit(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm:
        scale(gradients, max_norm)
    return norm


@answers.wrong(
    "the norm is right, and no gradient has changed. model.parameters() is a generator, which a "
    "second loop finds empty: make a list first. And change the gradients in place, with mul_."
)
def second_loop_is_empty(parameters: Any, max_norm: float) -> Any:
    norm = norm_of(gradients_of(parameters))
    if norm > max_norm:
        for parameter in parameters:
            parameter.grad.mul_(max_norm / norm)
    return norm


@answers.wrong("that is the norm of the parameters: take each one's .grad.")
def norm_of_parameters(parameters: Any, max_norm: float) -> Any:
    known = list(parameters)
    norm = float(torch.cat([p.detach() for p in known]).norm())
    if norm > max_norm:
        scale(gradients_of(known), max_norm / norm)
    return norm


@answers.wrong("it scales the parameters themselves: scale each one's .grad.")
def scales_parameters(parameters: Any, max_norm: float) -> Any:
    known = list(parameters)
    norm = norm_of(gradients_of(known))
    if norm > max_norm:
        for parameter in known:
            parameter.data.mul_(max_norm / norm)
    return norm


@answers.wrong(
    "a parameter that has no part in the loss has no gradient, its .grad is None: pass it over."
)
def none_breaks(parameters: Any, max_norm: float) -> Any:
    gradients = [p.grad for p in parameters]
    norm = float(sum(g.square().sum() for g in gradients)) ** 0.5
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong("the gradients are right; it returns nothing: return the norm before clipping.")
def returns_nothing(parameters: Any, max_norm: float) -> Any:
    clip_by_global_norm(parameters, max_norm)


@answers.wrong(
    "where the norm is inf, max_norm / inf is 0, and 0 · inf is no number: leave all gradients as "
    "they are where the norm is not finite."
)
def scales_by_infinity(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong(
    "where the norm is inf or nan, the factor is 0 or no number, and the gradients are lost: leave "
    "them as they are there. (torch's own clip_grad_norm_ loses them, too.)"
)
def scales_by_no_number(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if not norm <= max_norm:
        scale(gradients, max_norm / norm)
    return norm


@answers.wrong(
    "where the norm is inf or nan, it sets the gradients to zero: leave them as they are there. "
    "The caller gets the norm, and can leave the step out."
)
def zero_where_not_finite(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
    norm = norm_of(gradients)
    if norm > max_norm and math.isfinite(norm):
        scale(gradients, max_norm / norm)
    elif not math.isfinite(norm):
        for gradient in gradients:
            gradient.zero_()
    return norm


@answers.right
def as_torch_does(parameters: Any, max_norm: float) -> Any:
    gradients = gradients_of(parameters)
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
    name="clip_by_global_norm",
    notebook="12_training_loop",
    task="Scale all gradients by one factor so that their common norm is at most max_norm.",
    reference=clip_by_global_norm,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(alike, alike_where_finite),
)

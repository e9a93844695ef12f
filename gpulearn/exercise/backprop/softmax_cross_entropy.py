"""The loss of a classifier, and the gradient from which everything else follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.backprop.results import (
    named,
    quietly,
    same,
    same_but_for_overflow,
)
from gpulearn.nn.layers import softmax_cross_entropy

__all__ = ["EXERCISE"]

Array = np.ndarray[Any, Any]
Result = tuple[Any, Array]
answers = Answers()


def cases() -> list[Case]:
    """Batches that tell rows from columns, mean from sum, and a stable softmax from another."""
    rng = np.random.default_rng(13)
    cases = []
    for n, classes in ((4, 3), (3, 3), (1, 5), (2, 10)):
        logits = 2 * rng.normal(size=(n, classes))
        labels = rng.integers(0, classes, size=n)
        cases.append(Case(f"logits of shape ({n}, {classes})", (logits, labels)))
    far = np.array([[1000.0, 1001.0, 998.0], [3.0, 1.0, 2.0]]), np.array([0, 2])
    apart = np.array([[-900.0, -902.0], [900.0, 901.0], [0.0, 1.0]]), np.array([1, 0, 1])
    sure = np.array([[3000.0, 0.0, 1.0], [0.5, 0.0, 2.0]]), np.array([1, 0])
    single = rng.normal(size=(5, 4)).astype(np.float32), np.array([3, 3, 0, 1, 3])
    return [
        *cases,
        Case("logits of 1000", far),
        Case("one row at −900 and one at 900", apart),
        Case("a right class whose probability is below every float", sure),
        Case("labels that are all 0", (rng.normal(size=(3, 4)), np.zeros(3, np.int64))),
        Case("float32 logits of shape (5, 4)", single),
    ]


# What the answers below share: each says one thing otherwise.
def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def softmax(logits: Array) -> Array:
    return np.exp(log_softmax(logits))


def one_hot(labels: Array, like: Array) -> Array:
    return np.asarray(np.eye(like.shape[1], dtype=like.dtype)[labels])


def picked(log_p: Array, labels: Array) -> Array:
    return np.asarray(log_p[np.arange(len(labels)), labels])


def loss_of(logits: Array, labels: Array) -> Any:
    return -picked(log_softmax(logits), labels).mean()


def gradient_of(logits: Array, labels: Array) -> Array:
    return (softmax(logits) - one_hot(labels, logits)) / len(labels)


@answers.wrong(
    "exp overflows: exp(1000) is inf, and inf/inf is nan. Subtract each row's largest logit "
    "first; the probabilities stay the same."
)
def overflows(logits: Array, labels: Array) -> Result:
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return -np.log(picked(p, labels)).mean(), (p - one_hot(labels, p)) / len(p)


@answers.wrong(
    "the logarithm meets a probability that has become 0: take it before the exponential, "
    "log p = shifted − log Σ exp(shifted)."
)
def log_of_zero(logits: Array, labels: Array) -> Result:
    return -np.log(picked(softmax(logits), labels)).mean(), gradient_of(logits, labels)


def _hidden_zero(small: float) -> None:
    """Ways to hide the logarithm of zero behind a small number."""

    @answers.wrong(
        f"adding {small:g} inside the logarithm hides the zero and not the mistake: the loss of a "
        f"hopeless row stops growing. Use log p = shifted − log Σ exp(shifted)."
    )
    def added(logits: Array, labels: Array) -> Result:
        p = softmax(logits)
        return -np.log(picked(p, labels) + small).mean(), gradient_of(logits, labels)

    @answers.wrong(
        f"cutting probabilities off at {small:g} hides the zero and not the mistake: the loss of "
        f"a hopeless row stops growing. Use log p = shifted − log Σ exp(shifted)."
    )
    def cut(logits: Array, labels: Array) -> Result:
        p = np.maximum(softmax(logits), small)
        return -np.log(picked(p, labels)).mean(), gradient_of(logits, labels)

    if small < 1e-12:  # what the next two make of the gradient would be lost in rounding
        return

    @answers.wrong(
        f"cutting probabilities off at {small:g} stops the loss of a hopeless row from growing, "
        f"and falsifies the gradient made of them. Use log p = shifted − log Σ exp(shifted)."
    )
    def cut_for_both(logits: Array, labels: Array) -> Result:
        p = np.maximum(softmax(logits), small)
        return -np.log(picked(p, labels)).mean(), (p - one_hot(labels, p)) / len(p)

    @answers.wrong(
        f"keeping probabilities between {small:g} and 1 − {small:g} stops the loss of a hopeless "
        f"row from growing, and falsifies the gradient that is made of them. Use log p = shifted − "
        f"log Σ exp(shifted)."
    )
    def clipped_for_both(logits: Array, labels: Array) -> Result:
        p = np.clip(softmax(logits), small, 1 - small)
        return -np.log(picked(p, labels)).mean(), (p - one_hot(labels, p)) / len(p)


for small in (1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7):
    _hidden_zero(small)


@answers.wrong(
    "the softmax runs down the columns, over the batch: each row is one example, so axis=1."
)
def wrong_axis(logits: Array, labels: Array) -> Result:
    log_p = log_softmax(logits.T).T
    return -picked(log_p, labels).mean(), (np.exp(log_p) - one_hot(labels, logits)) / len(logits)


@answers.wrong(
    "the softmax runs over the whole batch at once: the probabilities of each row add up to 1, "
    "so axis=1, keepdims=True."
)
def no_axis(logits: Array, labels: Array) -> Result:
    log_p = log_softmax(logits.reshape(1, -1)).reshape(logits.shape)
    return -picked(log_p, labels).mean(), (np.exp(log_p) - one_hot(labels, logits)) / len(logits)


@answers.wrong(
    "the largest logit of the whole batch is subtracted: in a row far below it every exponential "
    "becomes 0. Subtract each row's own: max(axis=1, keepdims=True)."
)
def one_maximum(logits: Array, labels: Array) -> Result:
    e = np.exp(logits - logits.max())
    p = e / e.sum(axis=1, keepdims=True)
    return -np.log(picked(p, labels)).mean(), (p - one_hot(labels, p)) / len(p)


@answers.wrong(
    "one maximum is subtracted from the whole batch: a row far below it sums up to 0, and log 0 "
    "is −inf. Subtract each row's own: max(axis=1, keepdims=True)."
)
def one_maximum_in_log_softmax(logits: Array, labels: Array) -> Result:
    shifted = logits - logits.max()
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -picked(log_p, labels).mean(), (np.exp(log_p) - one_hot(labels, log_p)) / len(log_p)


@answers.wrong(
    "what is subtracted of each row is not its largest logit, but its mean, say, or its least: a "
    "logit far above that still overflows. Subtract max(axis=1, keepdims=True)."
)
def row_mean_subtracted(logits: Array, labels: Array) -> Result:
    shifted = logits - logits.mean(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -picked(log_p, labels).mean(), (np.exp(log_p) - one_hot(labels, log_p)) / len(log_p)


@answers.wrong(
    "the loss is stable, but the gradient takes exp(logits) anew, which overflows: its softmax is "
    "exp(log_p)."
)
def gradient_overflows(logits: Array, labels: Array) -> Result:
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return loss_of(logits, labels), (p - one_hot(labels, p)) / len(p)


@answers.wrong(
    "the loss is minus the right class's logit alone; it is −log p, so log Σ exp(logits) of the "
    "row must be added."
)
def loss_without_normalisation(logits: Array, labels: Array) -> Result:
    return -picked(logits, labels).mean(), gradient_of(logits, labels)


@answers.wrong("it takes the sum over the batch, in both; both are means: divide by n.")
def sums(logits: Array, labels: Array) -> Result:
    n = len(labels)
    return loss_of(logits, labels) * n, gradient_of(logits, labels) * n


@answers.wrong("the loss is the mean over the batch; its gradient must be divided by n as well.")
def gradient_of_the_sum(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), gradient_of(logits, labels) * len(labels)


@answers.wrong("the loss is summed over the batch, while its gradient is that of the mean.")
def loss_summed(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels) * len(labels), gradient_of(logits, labels)


@answers.wrong(
    "the loss is divided by the classes too: only one element of each row counts, so the mean "
    "is over n rows."
)
def mean_over_all(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels) / logits.shape[1], gradient_of(logits, labels)


@answers.wrong("loss and gradient are divided by all n · classes elements; divide by n rows.")
def both_mean_over_all(logits: Array, labels: Array) -> Result:
    classes = logits.shape[1]
    return loss_of(logits, labels) / classes, gradient_of(logits, labels) / classes


@answers.wrong(
    "the gradient is divided by all n · classes elements; the loss is a mean over n rows, so "
    "divide by n."
)
def gradient_mean_over_all(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), gradient_of(logits, labels) / logits.shape[1]


@answers.wrong("the gradient is divided by n twice.")
def divided_twice(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), gradient_of(logits, labels) / len(labels)


@answers.wrong("the gradient lacks − 1 at the right class: it is (p − one_hot) / n.")
def without_one_hot(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), softmax(logits) / len(labels)


@answers.wrong("1 is subtracted after the division by n: divide p − one_hot as a whole.")
def one_hot_not_divided(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), softmax(logits) / len(labels) - one_hot(labels, logits)


@answers.wrong("1/n is subtracted before the division by n: divide p − one_hot as a whole.")
def one_hot_divided_twice(logits: Array, labels: Array) -> Result:
    n = len(labels)
    return loss_of(logits, labels), (softmax(logits) - one_hot(labels, logits) / n) / n


@answers.wrong("1/n is subtracted from an undivided p: divide p − one_hot as a whole.")
def only_one_hot_divided(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), softmax(logits) - one_hot(labels, logits) / len(labels)


@answers.wrong("the gradient's sign is turned round: it is p − one_hot, not one_hot − p.")
def gradient_negative(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), -gradient_of(logits, labels)


@answers.wrong("the loss lacks its minus: log p is below zero, and a loss must fall as p rises.")
def loss_negative(logits: Array, labels: Array) -> Result:
    return -loss_of(logits, labels), gradient_of(logits, labels)


@answers.wrong(
    "gradient[labels] takes whole rows by number; one element of each row is meant: "
    "gradient[np.arange(n), labels]."
)
def rows_by_label(logits: Array, labels: Array) -> Result:
    gradient = softmax(logits)
    gradient[labels] -= 1
    return loss_of(logits, labels), gradient / len(labels)


@answers.wrong(
    "gradient[:, labels] takes whole columns; one element of each row is meant: "
    "gradient[np.arange(n), labels]."
)
def columns_by_label(logits: Array, labels: Array) -> Result:
    gradient = softmax(logits)
    gradient[:, labels] -= 1
    return loss_of(logits, labels), gradient / len(labels)


@answers.wrong(
    "log_p[:, labels] takes whole columns, every row's score for every label: take one element "
    "of each row, log_p[np.arange(n), labels]."
)
def loss_of_columns(logits: Array, labels: Array) -> Result:
    return -log_softmax(logits)[:, labels].mean(), gradient_of(logits, labels)


@answers.wrong(
    "labels are used as if they were one-hot rows; they are class numbers: pick with "
    "[np.arange(n), labels], or make the rows with np.eye(classes)[labels]."
)
def labels_as_one_hot(logits: Array, labels: Array) -> Result:
    log_p = log_softmax(logits)
    loss = -(labels * log_p).sum(axis=1).mean()
    return loss, (np.exp(log_p) - labels) / len(labels)


@answers.wrong("the class number itself is subtracted; 1 is, and only at the right class.")
def label_numbers_subtracted(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), (softmax(logits) - labels[:, None]) / len(labels)


@answers.wrong(
    "that is the gradient with respect to the probabilities, −1/p; go on through the softmax to "
    "the logits: p − one_hot."
)
def gradient_of_probabilities(logits: Array, labels: Array) -> Result:
    slope = np.where(one_hot(labels, logits) > 0, -1 / softmax(logits), 0)
    return loss_of(logits, labels), slope / len(labels)


@answers.wrong("the gradient takes log p for p: exponentiate before one_hot is subtracted.")
def gradient_of_logs(logits: Array, labels: Array) -> Result:
    slope = log_softmax(logits) - one_hot(labels, logits)
    return loss_of(logits, labels), slope / len(labels)


@answers.wrong("the gradient takes the logits for their probabilities: softmax comes first.")
def gradient_of_logits(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels), (logits - one_hot(labels, logits)) / len(labels)


@answers.wrong("the loss has no logarithm: it is −log p of the right class, not 1 − p.")
def no_logarithm(logits: Array, labels: Array) -> Result:
    return (1 - picked(softmax(logits), labels)).mean(), gradient_of(logits, labels)


@answers.wrong("the loss is in bits, by log2: cross-entropy here takes the natural logarithm.")
def in_bits(logits: Array, labels: Array) -> Result:
    return loss_of(logits, labels) / np.log(2), gradient_of(logits, labels)


@answers.wrong("the loss is one number, the mean over the batch; these are the rows' losses.")
def loss_per_row(logits: Array, labels: Array) -> Result:
    return -picked(log_softmax(logits), labels), gradient_of(logits, labels)


@answers.wrong("it changes logits in place; others still need them: shifted = logits − … is new.")
def in_place(logits: Array, labels: Array) -> Result:
    logits -= logits.max(axis=1, keepdims=True)
    return loss_of(logits, labels), gradient_of(logits, labels)


@answers.wrong("the two are returned in the wrong order: the loss comes first.")
def exchanged(logits: Array, labels: Array) -> tuple[Array, Any]:
    return gradient_of(logits, labels), loss_of(logits, labels)


@answers.wrong("that is the loss alone: return loss, gradient.")
def only_loss(logits: Array, labels: Array) -> Any:
    return loss_of(logits, labels)


@answers.right
def by_logaddexp(logits: Array, labels: Array) -> Result:
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    hot = np.eye(logits.shape[1])[labels]
    return -(hot * log_p).sum() / len(labels), (np.exp(log_p) - hot) / len(labels)


@answers.right
def by_loops(logits: Array, labels: Array) -> Result:
    n, classes = logits.shape
    loss, gradient = 0.0, np.zeros((n, classes))
    for row in range(n):
        largest = max(logits[row])
        total = sum(math.exp(value - largest) for value in logits[row])
        loss += (math.log(total) + largest - logits[row, labels[row]]) / n
        for c in range(classes):
            p = math.exp(logits[row, c] - largest) / total
            gradient[row, c] = (p - (c == labels[row])) / n
    return loss, gradient


@answers.right
def by_take_along_axis(logits: Array, labels: Array) -> list[Any]:
    e = np.exp(logits - np.max(logits, axis=1)[:, None])
    total = e.sum(axis=1)
    own = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    gradient = e / total[:, None]
    for row, label in enumerate(labels):
        gradient[row, label] -= 1
    loss = np.mean(np.log(total) + logits.max(axis=1) - own)
    return [float(loss), gradient / logits.shape[0]]


EXERCISE = Exercise(
    name="softmax_cross_entropy",
    notebook="11_backprop",
    task="Find the mean cross-entropy of a batch under softmax, and its gradient.",
    reference=softmax_cross_entropy,
    cases=cases,
    run=quietly,
    difference=named("loss", "gradient"),
    kinships=(same, same_but_for_overflow),
    answers=answers,
)

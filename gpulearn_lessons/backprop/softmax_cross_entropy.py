"""The mean cross-entropy of a batch under softmax, and its gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import softmax_cross_entropy
from gpulearn_lessons.backprop.results import named, quietly, same

Array = np.ndarray[Any, Any]
Result = tuple[Any, Array]
answers = Answers(softmax_cross_entropy)


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
    sure = np.array([[30000.0, 0.0, 1.0], [0.5, 0.0, 2.0]]), np.array([1, 0])
    huge = np.array([[1e6, 5e5, 0.0], [3.0, 1.0, 2.0]]), np.array([1, 0])
    single = rng.normal(size=(5, 4)).astype(np.float32), np.array([3, 3, 0, 1, 3])
    return [
        *cases,
        Case("logits of 1000", far),
        Case("one row at −900 and one at 900", apart),
        Case("a right class whose probability is below every float", sure),
        Case("logits of a million", huge),
        Case("labels that are all 0", (rng.normal(size=(3, 4)), np.zeros(3, np.int64))),
        Case("float32 logits of shape (5, 4)", single),
    ]


LARGEST = "logits.max(axis=1, keepdims=True)"
LOG_P = "shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))"
LOSS = "-log_p[right].mean()"
P = "np.exp(log_p)"
DIVIDED = "gradient / n"


def made_of(p: str) -> dict[str, str]:
    """Edits by which loss and gradient are made of probabilities, not of their logarithms."""
    return {f"log_p = {LOG_P}": f"p = {p}", LOSS: "-np.log(p[right]).mean()", P: "p"}


answers.edit(
    made_of("np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)"),
    "exp overflows: exp(1000) is inf, and inf/inf is nan. Subtract each row's largest logit "
    "first; the probabilities stay the same.",
)
answers.edit(
    {LOSS: "-np.log(np.exp(log_p[right])).mean()"},
    "the logarithm meets a probability that has become 0: take it before the exponential, "
    "log p = shifted − log Σ exp(shifted).",
)
answers.edit(
    {
        **made_of("np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)"),
        "    n = len(logits)\n": (
            "    n, kind = len(logits), logits.dtype\n    logits = logits.astype(np.longdouble)\n"
        ),
        f"loss, {DIVIDED}": "float(loss), (gradient / n).astype(kind)",
    },
    "longer floats only move the limit: exp overflows in them too, at some ten thousand. Subtract "
    "each row's largest logit first; the probabilities stay the same.",
)
for small in (1e-15, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7):
    answers.edit(
        {LOSS: f"-np.log(np.exp(log_p[right]) + {small}).mean()"},
        f"adding {small:g} inside the logarithm hides the zero and not the mistake: the loss of a "
        f"hopeless row stops growing. Use log p = shifted − log Σ exp(shifted).",
    )
    answers.edit(
        {LOSS: f"-np.log(np.maximum(np.exp(log_p[right]), {small})).mean()"},
        f"cutting probabilities off at {small:g} hides the zero and not the mistake: the loss of "
        f"a hopeless row stops growing. Use log p = shifted − log Σ exp(shifted).",
    )
    if small < 1e-12:  # what the next two make of the gradient would be lost in rounding
        continue
    answers.edit(
        made_of(f"np.maximum(np.exp({LOG_P}), {small})"),
        f"cutting probabilities off at {small:g} stops the loss of a hopeless row from growing, "
        f"and falsifies the gradient made of them. Use log p = shifted − log Σ exp(shifted).",
    )
    answers.edit(
        made_of(f"np.clip(np.exp({LOG_P}), {small}, 1 - {small})"),
        f"keeping probabilities between {small:g} and 1 − {small:g} stops the loss of a hopeless "
        f"row from growing, and falsifies the gradient that is made of them. Use log p = shifted − "
        f"log Σ exp(shifted).",
    )
answers.edit(
    {LARGEST: "logits.max(axis=0)", LOG_P: "shifted - np.log(np.exp(shifted).sum(axis=0))"},
    "the softmax runs down the columns, over the batch: each row is one example, so axis=1.",
)
answers.edit(
    {LARGEST: "logits.max()", LOG_P: "shifted - np.log(np.exp(shifted).sum())"},
    "the softmax runs over the whole batch at once: the probabilities of each row add up to 1, "
    "so axis=1, keepdims=True.",
)
answers.edit(
    {
        LARGEST: "logits.max()",
        **made_of("np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)"),
    },
    "the largest logit of the whole batch is subtracted: in a row far below it every exponential "
    "becomes 0. Subtract each row's own: max(axis=1, keepdims=True).",
)
answers.edit(
    {LARGEST: "logits.max()"},
    "one maximum is subtracted from the whole batch: a row far below it sums up to 0, and log 0 "
    "is −inf. Subtract each row's own: max(axis=1, keepdims=True).",
)
answers.edit(
    {LARGEST: "logits.mean(axis=1, keepdims=True)"},
    "what is subtracted of each row is not its largest logit, but its mean, say, or its least: a "
    "logit far above that still overflows. Subtract max(axis=1, keepdims=True).",
)
answers.edit(
    {P: "np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)"},
    "the loss is stable, but the gradient takes exp(logits) anew, which overflows: its softmax is "
    "exp(log_p).",
)
answers.edit(
    {LOSS: "-logits[right].mean()"},
    "the loss is minus the right class's logit alone; it is −log p, so log Σ exp(logits) of the "
    "row must be added.",
)
answers.edit(
    {"mean()": "sum()", DIVIDED: "gradient"},
    "it takes the sum over the batch, in both; both are means: divide by n.",
)
answers.edit(
    {DIVIDED: "gradient"},
    "the loss is the mean over the batch; its gradient must be divided by n as well.",
)
answers.edit(
    {"mean()": "sum()"},
    "the loss is summed over the batch, while its gradient is that of the mean.",
)
answers.edit(
    {"mean()": "sum() / logits.size"},
    "the loss is divided by the classes too: only one element of each row counts, so the mean "
    "is over n rows.",
)
answers.edit(
    {"mean()": "sum() / logits.size", DIVIDED: "gradient / logits.size"},
    "loss and gradient are divided by all n · classes elements; divide by n rows.",
)
answers.edit(
    {DIVIDED: "gradient / logits.size"},
    "the gradient is divided by all n · classes elements; the loss is a mean over n rows, so "
    "divide by n.",
)
answers.edit({DIVIDED: "gradient / n / n"}, "the gradient is divided by n twice.")
answers.edit(
    {"    gradient[right] -= 1\n": ""},
    "the gradient lacks − 1 at the right class: it is (p − one_hot) / n.",
)
answers.edit(
    {P: f"{P} / n", DIVIDED: "gradient"},
    "1 is subtracted after the division by n: divide p − one_hot as a whole.",
)
answers.edit(
    {"-= 1": "-= 1 / n"},
    "1/n is subtracted before the division by n: divide p − one_hot as a whole.",
)
answers.edit(
    {"-= 1": "-= 1 / n", DIVIDED: "gradient"},
    "1/n is subtracted from an undivided p: divide p − one_hot as a whole.",
)
answers.edit(
    {DIVIDED: "-gradient / n"},
    "the gradient's sign is turned round: it is p − one_hot, not one_hot − p.",
)
answers.edit(
    {LOSS: "log_p[right].mean()"},
    "the loss lacks its minus: log p is below zero, and a loss must fall as p rises.",
)
answers.edit(
    {"gradient[right]": "gradient[labels]"},
    "gradient[labels] takes whole rows by number; one element of each row is meant: "
    "gradient[np.arange(n), labels].",
)
answers.edit(
    {"gradient[right]": "gradient[:, labels]"},
    "gradient[:, labels] takes whole columns; one element of each row is meant: "
    "gradient[np.arange(n), labels].",
)
answers.edit(
    {"log_p[right]": "log_p[:, labels]"},
    "log_p[:, labels] takes whole columns, every row's score for every label: take one element "
    "of each row, log_p[np.arange(n), labels].",
)
answers.edit(
    {
        LOSS: "-(labels * log_p).sum(axis=1).mean()",
        "gradient[right] -= 1": "gradient = gradient - labels",
    },
    "labels are used as if they were one-hot rows; they are class numbers: pick with "
    "[np.arange(n), labels], or make the rows with np.eye(classes)[labels].",
)
answers.edit(
    {"gradient[right] -= 1": "gradient = gradient - labels[:, None]"},
    "the class number itself is subtracted; 1 is, and only at the right class.",
)
answers.edit(
    {
        P: "np.zeros_like(log_p)",
        "gradient[right] -= 1": "gradient[right] = -1 / np.exp(log_p[right])",
    },
    "that is the gradient with respect to the probabilities, −1/p; go on through the softmax to "
    "the logits: p − one_hot.",
)
answers.edit(
    {P: "log_p"},
    "the gradient takes log p for p: exponentiate before one_hot is subtracted.",
)
answers.edit(
    {P: "logits.copy()"},
    "the gradient takes the logits for their probabilities: softmax comes first.",
)
answers.edit(
    {LOSS: "(1 - np.exp(log_p[right])).mean()"},
    "the loss has no logarithm: it is −log p of the right class, not 1 − p.",
)
answers.edit(
    {LOSS: f"{LOSS} / np.log(2)"},
    "the loss is in bits, by log2: cross-entropy here takes the natural logarithm.",
)
answers.edit(
    {LOSS: "-log_p[right]"},
    "the loss is one number, the mean over the batch; these are the rows' losses.",
)
answers.edit(
    {"shifted = logits -": "shifted = logits\n    shifted -="},
    "it changes logits in place; others still need them: shifted = logits − … is new.",
)
answers.edit(
    {f"loss, {DIVIDED}": f"{DIVIDED}, loss"},
    "the two are returned in the wrong order: the loss comes first.",
)
answers.edit({f"loss, {DIVIDED}": "loss"}, "that is the loss alone: return loss, gradient.")


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


def same_but_for_overflow(one: Any, other: Any) -> bool:
    """A looser view: what overflowed may show as inf, −inf or nan."""
    return same(_blurred(one), _blurred(other))


def _blurred(results: Any) -> Any:
    if isinstance(results, tuple | list):
        return tuple(map(_blurred, results))
    return np.where(np.isfinite(results), results, np.nan)


EXERCISE = Exercise(
    task="Find the mean cross-entropy of a batch under softmax, and its gradient.",
    reference=softmax_cross_entropy,
    cases=cases,
    run=quietly,
    difference=named("loss", "gradient"),
    kinships=(same, same_but_for_overflow),
    answers=answers,
)

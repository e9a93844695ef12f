"""Which class is taken for which: counted, and as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import centered, figure
from gpulearn.require import shown

Array = np.ndarray[Any, Any]


def confusion_matrix(labels: Array, predicted: Array, classes: int = 10) -> Array:
    """Count how often each class was taken for each.

    Args:
        labels: the true classes, whole numbers of shape (n,).
        predicted: the model's answers, shape (n,).
        classes: how many classes there are.

    Returns:
        Counts of shape (classes, classes): row = true class, column = answer. The diagonal
        holds the right answers.

    >>> confusion_matrix([0, 1, 1], [0, 1, 0], classes=2).tolist()
    [[1, 0], [1, 1]]
    """
    classes = require.whole("classes", classes)
    pair = {"labels": np.asarray(labels), "predicted": np.asarray(predicted)}
    for name, array in pair.items():
        if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
            raise BadInput(f"{name} is {shown(array)}: give whole numbers of shape (n,).")
        if array.min() < 0 or array.max() >= classes:
            bad = array.min() if array.min() < 0 else array.max()
            raise BadInput(f"{name} holds {bad}: with {classes} classes, 0 to {classes - 1}.")
    true, answer = pair.values()
    if len(true) != len(answer):
        raise BadInput(f"There are {len(true)} labels and {len(answer)} answers: give as many.")
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (true, answer), 1)
    return counts


def confusion(labels: Array, predicted: Array, classes: int = 10) -> Picture:
    """Draw the confusion matrix: rows are the true classes, columns the model's answers."""
    counts = confusion_matrix(labels, predicted, classes)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    with figure(5.4, 5.2) as (fig, axes):
        axes.grid(visible=False)
        # Only the mistakes are shaded: the diagonal would drown them.
        axes.imshow(wrong, cmap="Oranges", vmin=0, vmax=max(4, 1.5 * wrong.max()))
        for row, column in np.ndindex(counts.shape):
            if count := counts[row, column]:
                weight = "normal" if row == column else "bold"
                color = "0.35" if row == column else "black"
                centered(axes, column, row, str(count), weight=weight, color=color)
        axes.set(xticks=range(classes), yticks=range(classes), xlabel="the model's answer")
        axes.set_ylabel("the true digit" if classes == 10 else "the true class")
    return show(fig, sentence(counts, wrong))


def sentence(counts: Array, wrong: Array) -> str:
    """The finding: how many are wrong, and which mistake is the most frequent."""
    total, mistakes = counts.sum(), wrong.sum()
    head = f"Confusion matrix: {total - mistakes:,} of {total:,} answers lie on the diagonal"
    if not mistakes:
        return f"{head}, none beside it."
    if wrong.max() == 1:
        return f"{head}, {mistakes:,} beside it; no mistake was made twice."
    true, answer = (int(place) for place in np.unravel_index(wrong.argmax(), wrong.shape))
    return (
        f"{head}, {mistakes:,} beside it; the most frequent mistake, {wrong.max()} times, is "
        f"{answer} for {true}."
    )

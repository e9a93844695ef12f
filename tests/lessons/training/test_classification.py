"""Confusions are counted one by one, and the picture names the most frequent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn_lessons.training import confusion, confusion_matrix
from gpulearn_lessons.training.classification import sentence


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
def test_confusions_are_counted(pairs):
    labels, answers = (np.array(column) for column in zip(*pairs, strict=True))
    counts = confusion_matrix(labels, answers, classes=5)
    for true, answer in np.ndindex(5, 5):
        assert counts[true, answer] == pairs.count((true, answer))


def test_the_most_frequent_mistake_is_named():
    labels = np.array([3, 3, 3, 8, 1])
    picture = confusion(labels, np.array([3, 5, 5, 1, 1]))
    assert picture.alt == (
        "Confusion matrix: 2 of 5 answers lie on the diagonal, 3 beside it; the most frequent "
        "mistake, 2 times, is 5 for 3."
    )
    assert confusion(labels, labels).alt.endswith(
        "5 of 5 answers lie on the diagonal, none beside it."
    )
    once = np.array([[1, 1], [0, 2]])
    assert sentence(once, once - np.diag([1, 2])).endswith("no mistake was made twice.")


@pytest.mark.parametrize(
    ("labels", "answers", "message"),
    [
        ([0, 1], [0], "2 labels and 1 answers"),
        ([0, 10], [0, 1], "labels holds 10: with 10 classes, 0 to 9"),
        ([0, 1], [0, -1], "predicted holds -1"),
        ([0.5], [1], "labels is an array of shape"),
        ([], [], "labels is"),
    ],
)
def test_what_are_no_classes_is_refused(labels, answers, message):
    with pytest.raises(gl.errors.BadInput, match=message):
        confusion(np.array(labels), np.array(answers))

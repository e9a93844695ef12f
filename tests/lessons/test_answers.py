"""Answers by another hand than the catalogues': the right ones pass, the wrong ones are told why.

`answers_nb*.py` hold them: RIGHT, exercise → answers, and WRONG, (exercise, answer, what must be
said).
"""

import pytest

from gpulearn.lessons.exercise import catalogue, find
from gpulearn.lessons.judge import diagnose

from . import (
    answers_nb03,
    answers_nb04,
    answers_nb05,
    answers_nb06,
    answers_nb07,
    answers_nb10,
    answers_nb11,
)

NOTEBOOKS = {
    "03": answers_nb03,
    "04": answers_nb04,
    "05": answers_nb05,
    "06": answers_nb06,
    "07": answers_nb07,
    "10": answers_nb10,
    "11": answers_nb11,
}
RIGHT = [
    pytest.param(name, answer, id=f"{name}-{answer.__name__}")
    for module in NOTEBOOKS.values()
    for name, several in module.RIGHT.items()
    for answer in several
]
WRONG = [
    pytest.param(*one, id=f"{one[0]}-{one[1].__name__}")
    for module in NOTEBOOKS.values()
    for one in module.WRONG
]


@pytest.mark.parametrize("number", NOTEBOOKS)
def test_every_exercise_of_a_notebook_has_right_answers(number):
    names = [e.name for e in catalogue().values() if e.notebook.startswith(number)]
    assert list(NOTEBOOKS[number].RIGHT) == names


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_pass(name, answer):
    assert diagnose(find(name), answer) is None


@pytest.mark.parametrize(("name", "answer", "said"), WRONG)
def test_wrong_answers_are_told_what_they_do(name, answer, said):
    found = diagnose(find(name), answer) or "nothing"
    # what ends a sentence ends the diagnosis: no hint for another mistake follows
    assert found.endswith(said) if said.endswith(".") else said in found

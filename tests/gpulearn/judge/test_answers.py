"""Answers by another hand than the catalogues': the right ones pass, the wrong ones are told why.

`answers_*.py` hold them: RIGHT, exercise → answers, and WRONG, (exercise, answer, what must be
said).
"""

import pytest

from gpulearn.judge.catalogue import catalogue, find
from gpulearn.judge.diagnosis import diagnose
from tests.lessons import (
    answers_backprop,
    answers_coalescing,
    answers_cuda_cpp,
    answers_gradient_descent,
    answers_matmul,
    answers_noise_and_schedules,
    answers_reductions,
    answers_shared_memory,
    answers_threads,
    answers_training,
    answers_training_costs,
)

NOTEBOOKS = {
    "03": answers_threads,
    "04": answers_coalescing,
    "05": answers_shared_memory,
    "06": answers_matmul,
    "07": answers_reductions,
    "09": answers_cuda_cpp,
    "10": answers_gradient_descent,
    "11": answers_noise_and_schedules,
    "12": answers_backprop,
    "13": answers_training,
    "14": answers_training_costs,
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


def compiler_of(name, request):
    """An answer in CUDA C++ needs its compiler."""
    if find(name).kernel:
        request.getfixturevalue("_nvrtc")


@pytest.mark.parametrize("number", NOTEBOOKS)
def test_every_exercise_of_a_notebook_has_right_answers(number):
    names = [e.name for e in catalogue().values() if e.notebook.startswith(number)]
    assert list(NOTEBOOKS[number].RIGHT) == names


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers_pass(name, answer, request):
    compiler_of(name, request)
    assert diagnose(find(name), answer) is None


@pytest.mark.parametrize(("name", "answer", "said"), WRONG)
def test_wrong_answers_are_told_what_they_do(name, answer, said, request):
    compiler_of(name, request)
    found = diagnose(find(name), answer) or "nothing"
    # what ends a sentence ends the diagnosis: no hint for another mistake follows
    assert found.endswith(said) if said.endswith(".") else said in found

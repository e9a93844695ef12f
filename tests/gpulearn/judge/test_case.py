"""The inputs of a case, as they are handed to a learner."""

from __future__ import annotations

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput, WrongAnswer
from gpulearn.judge import compare
from gpulearn.judge.case import case
from gpulearn.judge.catalogue import catalogue, find

EXERCISES = [one for one in catalogue().values() if one.by_hand]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_every_case_can_be_handed_over(exercise):
    labels = [one.label for one in exercise.cases()]
    for number, label in enumerate(labels, 1):
        got = case(exercise.name, number)
        assert got.label == label
        assert got.calls
        assert repr(got).startswith(f"For {label}:\n{exercise.name}")


def test_the_arguments_are_what_the_check_calls_the_answer_with():
    given = case("momentum_step", 3)
    step = gl.optim.momentum_step
    for call in given.calls:
        theta, state = step(*call.args, **call.options)
        np.testing.assert_array_equal(theta, call.expected[0])
        np.testing.assert_array_equal(state, call.expected[1])
    assert given.args is given.calls[0].args
    assert given.options == {"lr": 0.3, "momentum": 0.0}


def test_a_kernel_can_be_launched_on_what_is_handed_over():
    exercise = find("block_sum")
    given = case("block_sum", 1)
    there = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in given.args]
    exercise.reference[given.grid, given.block](*there)
    results = exercise.cases()[0].results
    for position, wanted in zip(results, given.expected, strict=True):
        assert compare.arrays(there[position].copy_to_host(), wanted) is None


def test_each_time_they_are_made_anew():
    first = case("vector_add", 1)
    first.args[0][:] = 7
    assert not (case("vector_add", 1).args[0] == 7).any()


def test_a_diagnosis_says_how_to_get_them_and_a_hint_does_not():
    with pytest.raises(WrongAnswer, match=r'gl\.case\("ridge_point", 1\) gives its inputs\.$'):
        gl.check("ridge_point", lambda peak_flops, bandwidth: 3.0 * peak_flops)
    with pytest.raises(WrongAnswer) as hint:
        gl.check("matmul_flops", lambda m, n, p: m * n * p)
    assert "gl.case" not in str(hint.value)


@pytest.mark.parametrize("number", [0, 99, "two"])
def test_a_number_that_no_case_has_is_refused(number):
    with pytest.raises(BadInput, match=str(number)):
        case("vector_add", number)


def test_what_runs_on_ranks_says_so():
    with pytest.raises(BadInput, match="several ranks"):
        case("ring_all_reduce", 1)


def test_small_arrays_are_shown_whole_and_large_ones_by_their_ends():
    assert "[[ 1.,  0.],\n [ 0., 25.]]" in repr(case("largest_stable_step", 2))
    assert "..." in repr(case("vector_add", 1))

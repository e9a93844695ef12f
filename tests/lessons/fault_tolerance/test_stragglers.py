"""A straggler is found whatever the hiccups, the waiting and the order of the ranks are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn_lessons.fault_tolerance.stragglers import find_the_straggler


def waits(compute):
    return compute.max(axis=1, keepdims=True) - compute


@given(st.integers(2, 9), st.integers(3, 30), st.floats(1.3, 50), st.integers(0, 2**31), st.data())
def test_a_rank_that_is_slow_in_most_steps_is_found(ranks, steps, factor, seed, data):
    random = np.random.default_rng(seed)
    compute = random.uniform(1, 1.05, (steps, ranks))
    slow = data.draw(st.integers(0, ranks - 1))
    compute[:, slow] *= factor
    for rank in range(ranks):  # fewer than half of its steps, as long as you like
        hiccups = random.choice(steps, data.draw(st.integers(0, (steps - 1) // 2)), replace=False)
        compute[hiccups, rank] *= 100
    assert find_the_straggler(compute, waits(compute)) == slow


@given(st.integers(2, 9), st.integers(3, 30), st.integers(0, 2**31))
def test_equal_ranks_have_none(ranks, steps, seed):
    random = np.random.default_rng(seed)
    compute = random.uniform(1, 1.1, (steps, ranks))
    # a batch that is long for all makes nobody a straggler
    compute *= random.uniform(1, 5, (steps, 1)) if steps > 20 else 1
    compute[random.integers(steps)] *= 30
    assert find_the_straggler(compute, waits(compute), times=2.0) is None


def test_the_factor_is_a_bound_that_must_be_passed():
    compute = np.ones((5, 3))
    compute[:, 1] = 1.25
    assert find_the_straggler(compute, waits(compute), times=1.25) is None
    assert find_the_straggler(compute, waits(compute), times=1.2) == 1


@pytest.mark.parametrize(
    ("compute", "wait"),
    [([[1.0]], [[0.0]]), ([1.0, 2.0], [0.0, 0.0]), ([[1.0, 2.0]], [[0.0, 0.0, 0.0]])],
)
def test_tables_of_other_shapes_are_told(compute, wait):
    with pytest.raises(BadInput, match=r"shape \(steps, ranks\)"):
        find_the_straggler(compute, wait)

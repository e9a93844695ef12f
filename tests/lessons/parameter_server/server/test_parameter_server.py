"""The parameter server on ranks: equal to one process where it should be, and counted exactly."""

import math

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.parallel.communicator import wait_any
from gpulearn_lessons.parameter_server.server.parameter_server import train_with_server
from gpulearn_lessons.parameter_server.server.staleness import (
    apply_stale_gradient,
    bounded_staleness,
    largest_stable_rate,
)

CURVATURES = torch.tensor([1.0, 4.0, 2.5], dtype=torch.float64)
START = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)


def own_bowl(weights, worker, step):
    """A bowl with a minimum of its own for each worker, moved a little in each step."""
    return CURVATURES * (weights - worker - 0.1 * step)


def trained(workers, pushes=40, lr=0.02, launcher=gl.simulate, **how):
    def train():
        return train_with_server(own_bowl, START, pushes, lr, **how)

    run = launcher(train, workers + 1)
    return run[0] if launcher is gl.launch else run.results[0]


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_bound_0_is_one_process_with_the_mean_gradient(workers):
    """Whatever the order in which the gradients of a step arrive."""
    times = [0.1 * (1 + worker % 3) for worker in range(workers)]
    run = trained(workers, 5 * workers, bound=0, seconds=times)
    weights = START.clone()
    for step in range(5):
        weights -= 0.02 * sum(own_bowl(weights, worker, step) for worker in range(workers))
    assert (run.weights - weights).abs().max() < 1e-12
    assert run.by_worker == dict.fromkeys(range(workers), 5)
    assert run.late == 0


def test_real_ranks_do_the_same():
    real = trained(2, 10, launcher=gl.launch, bound=0)
    assert (real.weights - trained(2, 10, bound=0).weights).abs().max() < 1e-12
    assert len(trained(3, 20, launcher=gl.launch).updates) == 20


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_equal_workers_are_stale_by_all_others(workers):
    run = trained(workers, 10 * workers, seconds=[0.1] * workers)
    assert run.staleness == (*range(workers - 1), *[workers - 1] * (9 * workers + 1))


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_nobody_is_further_ahead_than_the_bound_allows(bound):
    run = trained(4, 60, bound=bound, seconds=[0.1, 0.1, 0.2, 0.5])
    clocks = [0] * 4
    for update in run.updates:
        # a step that was begun within the bound has been ended
        assert clocks[update.worker] - min(clocks) <= bound
        clocks[update.worker] += 1


def test_asynchronous_and_synchronous_training_send_the_same_bytes():
    def train(bound):
        return train_with_server(own_bowl, START, 40, 0.02, bound, [0.1, 0.1, 0.1, 0.4])

    runs = {bound: gl.simulate(train, 5, bound) for bound in (0, math.inf)}
    thrown = runs[math.inf].results[0].late
    pair = 3 * 8 + 4 * 8  # a gradient, and weights with a word to go on
    assert sum(runs[math.inf].bytes_sent) - sum(runs[0].bytes_sent) == thrown * pair


def test_a_server_that_nobody_speaks_to_is_named():
    def silent():
        if gl.parallel.rank() == 0:
            wait_any([gl.parallel.irecv(torch.empty(1), n) for n in (1, 2)])

    with pytest.raises(RankError, match="receives from any of ranks 1, 2"):
        gl.simulate(silent, 3)
    with pytest.raises(RankError, match="handles is empty"):
        gl.simulate(lambda: wait_any([]), 2)


def test_a_worker_that_fails_is_named():
    def failing(weights, worker, step):
        if worker == 1:
            raise ValueError("of mine")
        return weights

    def train():
        return train_with_server(failing, START, 20, 0.1)

    for launcher in (gl.simulate, gl.launch):
        with pytest.raises(RankError, match="rank 2 of 3 raised ValueError: of mine"):
            launcher(train, 3)


def test_what_cannot_be_is_refused():
    with pytest.raises(RankError, match="needs a worker"):
        trained(0)
    with pytest.raises(RankError, match="seconds has 1 times, and there are 2 workers"):
        trained(2, seconds=[1.0])
    with pytest.raises(RankError, match="bound is -1"):
        trained(2, bound=-1)


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_the_server_itself_diverges_beyond_the_stable_rate(workers):
    limit = largest_stable_rate(workers - 1) / 4

    def distance(lr):
        def train():
            curved = lambda weights, worker, step: CURVATURES * weights  # noqa: E731
            return train_with_server(curved, START, 900, lr, seconds=[0.1] * workers)

        return gl.simulate(train, workers + 1).results[0].weights.abs().max()

    assert distance(0.96 * limit) < 0.01 < 10 < distance(1.04 * limit)


def test_a_stale_gradient_counts_less():
    for kind in (np.array, torch.tensor):
        weights = kind([1.0, 2.0])
        assert apply_stale_gradient(weights, kind([1.0, 1.0]), 0.4, 9, 9) == 10
        assert apply_stale_gradient(weights, kind([1.0, 0.0]), 0.4, 10, 7) == 11
        assert weights.tolist() == pytest.approx([0.5, 1.6])


def test_the_slowest_decides_who_goes_on():
    assert bounded_staleness([4, 4, 4], {0, 1, 2}, 0) == [0, 1, 2]
    assert bounded_staleness([5, 4, 4], {0, 1}, 0) == [1]
    assert bounded_staleness([5, 4, 1], {0, 1}, 3) == [1]
    assert bounded_staleness([5, 4, 1], {0, 1}) == [0, 1]

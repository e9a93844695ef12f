"""Local steps and clients of different sizes, held against formulas and one process."""

import numpy as np
import pytest
import torch

import gpulearn as gl
from gpulearn_lessons.parameter_server.server.local_steps import federated_average, local_sgd


def local_fixed_point(curvatures, minima, lr, every):
    pulls = 1 - (1 - lr * np.array(curvatures)) ** every
    return (pulls * minima).sum() / pulls.sum()


CURVATURES, MINIMA = (1.0, 9.0, 4.0, 0.5), (0.0, 1.0, -2.0, 3.0)


def rest(every, lr=0.1, steps=500, ranks=4):
    def train():
        here = gl.parallel.rank()
        theta = torch.zeros(1, dtype=torch.float64)
        gradient = lambda weights: CURVATURES[here] * (weights - MINIMA[here])  # noqa: E731
        return local_sgd(theta, gradient, steps, every, lr).item()

    found = gl.simulate(train, ranks).results
    assert len(set(found)) == 1
    return found[0]


@pytest.mark.parametrize("every", [1, 2, 5, 50])
@pytest.mark.parametrize("ranks", [2, 4])
def test_local_steps_rest_where_the_formula_says(every, ranks):
    wanted = local_fixed_point(CURVATURES[:ranks], MINIMA[:ranks], 0.1, every)
    assert rest(every, ranks=ranks) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("samples", [(3, 1), (5, 0, 2), (1, 2, 3, 4, 5, 6, 7, 1)])
@pytest.mark.parametrize("launcher", ["simulated", "gloo"])
def test_each_client_counts_by_its_samples(samples, launcher):
    def mean():
        here = gl.parallel.rank()
        weights = torch.full((2, 2), float(here + 1), dtype=torch.float64)
        if not samples[here]:
            weights *= float("nan")
        return federated_average(weights, samples[here])

    if launcher == "gloo" and len(samples) > 4:
        pytest.skip("eight processes say no more than three")
    found = gl.launch(mean, len(samples), backend=launcher)
    wanted = sum(n * (r + 1) for r, n in enumerate(samples)) / sum(samples)
    for weights in found:
        assert (weights - wanted).abs().max() < 1e-12

"""The exercises of notebook 17, with answers written by other hands than the catalogue's."""

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def rate_by_numpy(step, rate, factor, warm_up=0):
    return np.interp(step, [0, warm_up], [rate, rate * factor]) if warm_up else rate * factor


def rate_that_decays(step, rate, factor, warm_up=0):
    return rate_by_numpy(step, rate, factor, warm_up) * (0.1 if step > 9000 else 1)


def quick(n, compute, size, link):
    return compute / n + 2 * (n - 1) * (link.latency + size / n / link.bandwidth)


def many_that_divide_the_batch(compute, size, link, batch, least=0.5):
    good = [n for n in range(1, batch + 1) if compute / n >= least * quick(n, compute, size, link)]
    return max(n for n in good if batch % n == 0)


def many_for_the_quickest_step(compute, size, link, batch, least=0.5):
    return min(range(1, batch + 1), key=lambda n: quick(n, compute, size, link))


def lars_with_epsilon(theta, gradient, state=None, *, lr, momentum=0.9, trust=0.001):
    ratio = trust * np.linalg.norm(theta) / (np.linalg.norm(gradient) + 1e-8)
    v = momentum * (0.0 if state is None else state) + ratio * gradient
    return theta - lr * v, v


def lars_unless_it_is_tiny(theta, gradient, state=None, *, lr, momentum=0.9, trust=0.001):
    length, slope = np.linalg.norm(theta), np.linalg.norm(gradient)
    ratio = trust * length / slope if length > 1e-8 and slope > 1e-8 else 1.0
    v = momentum * (0.0 if state is None else state) + ratio * gradient
    return theta - lr * v, v


def lars_by_spectral_norms(theta, gradient, state=None, *, lr, momentum=0.9, trust=0.001):
    ratio = 1.0
    if theta.any() and gradient.any():
        ratio = trust * np.linalg.norm(theta, 2) / np.linalg.norm(gradient, 2)
    v = momentum * (0.0 if state is None else state) + ratio * gradient
    return theta - lr * v, v


def lars_unless_any_is_zero(theta, gradient, state=None, *, lr, momentum=0.9, trust=0.001):
    ratio = 1.0
    if theta.all() and gradient.all():
        ratio = trust * np.linalg.norm(theta) / np.linalg.norm(gradient)
    v = momentum * (0.0 if state is None else state) + ratio * gradient
    return theta - lr * v, v


def lars_of_the_velocity(theta, gradient, state=None, *, lr, momentum=0.9, trust=0.001):
    v = momentum * (0.0 if state is None else state) + gradient
    ratio = trust * np.linalg.norm(theta) / np.linalg.norm(v) if theta.any() and v.any() else 1.0
    return theta - lr * ratio * v, v


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("scaled_learning_rate", lambda step, rate, factor: 1, "it takes (step, rate, factor), "),
        ("scaled_learning_rate", rate_that_decays, "it returns 0.08"),
        ("how_many_gpus", many_that_divide_the_batch, "it returns 8, expected 13"),
        ("how_many_gpus", many_for_the_quickest_step, "it returns 138, expected 13"),
        ("lars_step", lars_with_epsilon, "as if a number were added to ‖g‖"),
        ("lars_step", lars_unless_it_is_tiny, "short gradients or weights count as zero"),
        (
            "lars_step",
            lars_by_spectral_norms,
            "for no momentum, θ in Fortran order, step 1: 6 of 6 elements differ",
        ),
        ("lars_step", lars_unless_any_is_zero, "for biases that begin at zero, step 2: "),
        ("lars_step", lars_of_the_velocity, "for five weights, step 2: 5 of 5 elements differ"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert said in diagnosis
    assert "\n" not in diagnosis

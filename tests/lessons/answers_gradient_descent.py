"""Answers to notebook 10 by another hand than the catalogue's."""

import math

import numpy as np


def gradient_returns_gradient(theta, gradient, state=None, *, lr):
    return theta - lr * gradient, gradient


def gradient_rate_of_section_3(theta, gradient, state=None, *, lr):
    return theta - 0.3 * gradient, state


def gradient_in_float32(theta, gradient, state=None, *, lr):
    return (theta - lr * gradient).astype(np.float32), state


def gradient_in_float64(theta, gradient, state=None, *, lr):
    return theta - np.array(lr) * gradient, state


def momentum_first_step_apart(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = gradient.copy() if state is None else gradient + state * momentum
    return theta + -lr * velocity, velocity


def momentum_steps_along_the_slope(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - lr * gradient, velocity


def adam_by_increments(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t += 1
    m = m + (1 - beta1) * (gradient - m)
    v = v - (1 - beta2) * (v - np.power(gradient, 2))
    length = epsilon + (v / (1 - pow(beta2, t))) ** 0.5
    return theta - lr * np.divide(m / (1 - pow(beta1, t)), length), [t, m, v]


def adam_root_of_a_number(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    root = np.sqrt(v) / np.sqrt(1 - beta2**t)
    return theta - lr * m / (1 - beta1**t) / (root + epsilon), (t, m, v)


def limit_by_eigh(hessian):
    curvatures, _ = np.linalg.eigh(hessian)
    return 2 / curvatures[-1] if curvatures[-1] > 0 else math.inf


def steps_by_powers(curvatures, lr, share):
    factor, steps = float(max(abs(1 - lr * curvatures))), 0
    if factor >= 1:
        return float("inf")
    while factor**steps > share:
        steps += 1
    return steps


def steps_of_the_first_and_last(curvatures, lr, share):
    return steps_by_powers(curvatures[[0, -1]], lr, share)


def steps_of_the_whole_distance(curvatures, lr, share):
    left, steps = np.ones(len(curvatures)), 0
    if np.abs(1 - lr * curvatures).max() >= 1:
        return np.inf
    while np.linalg.norm(left) > share * np.sqrt(left.size):
        left = left * (1 - lr * curvatures)
        steps += 1
    return steps


def steps_at_most_ten_thousand(curvatures, lr, share):
    return min(steps_by_powers(curvatures, lr, share), 10_000)


def steps_asking_for_the_limit(curvatures, lr, share):
    factor = np.abs(1 - lr * curvatures).max()
    if lr >= 2 / curvatures.max():
        return np.inf
    return math.ceil(math.log(share) / math.log(factor)) if factor not in (0, 1) else 1


def momentum_of_at_most_95_percent(theta, gradient, state=None, *, lr, momentum=0.9):
    return momentum_first_step_apart(theta, gradient, state, lr=lr, momentum=min(momentum, 0.95))


def momentum_of_a_clipped_velocity(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = np.zeros_like(theta) if state is None else state
    velocity = np.clip(momentum * velocity + gradient, -10, 10)
    return theta - lr * velocity, velocity


def limit_of_at_most_ten(hessian):
    return min(limit_by_eigh(hessian), 10.0)


def limit_of_more_than_a_hair(hessian):
    top = np.linalg.eigvalsh(hessian)[-1]
    return 2 / top if top > 1e-8 else np.inf


def gradient_on_a_flat_copy(theta, gradient, state=None, *, lr):
    moved = np.array(theta)
    moved.reshape(-1)[:] -= lr * gradient.ravel()
    return moved, state


def gradient_into_theta(theta, gradient, state=None, *, lr):
    return np.subtract(theta, lr * gradient, out=theta), state


def steps_at_most_a_hundred_thousand(curvatures, lr, share):
    steps = steps_by_powers(curvatures, lr, share)
    return steps if steps <= 100_000 else np.inf


WRONG = [
    ("largest_stable_step", lambda hessian: 10**400, "it returns 10000"),
    ("gradient_step", gradient_into_theta, "it modifies the caller's array, as -= does, and with"),
    ("gradient_step", gradient_on_a_flat_copy, "for a matrix of parameters, θ in Fortran order, "),
    (
        "steps_needed",
        steps_at_most_a_hundred_thousand,
        "that direction is slow, but it gets there.",
    ),
    ("largest_stable_step", limit_of_more_than_a_hair, "3e-10, it returns inf, expected"),
    ("gradient_step", gradient_returns_gradient, "but was given None: this method remembers"),
    ("gradient_step", gradient_rate_of_section_3, "θ in Fortran order, step 1: 6 of 6"),
    ("gradient_step", gradient_in_float32, "an array of float32, which is too coarse for float64"),
    ("gradient_step", gradient_in_float64, "expected float32 as theta is: a float64 array"),
    ("momentum_step", momentum_steps_along_the_slope, "the old velocity has no effect on the step"),
    ("adam_step", adam_root_of_a_number, "np.sqrt of a Python number, makes"),
    ("steps_needed", steps_of_the_first_and_last, "for curvatures 4, 25, 1 and 9, near the limit"),
    ("steps_needed", steps_of_the_whole_distance, "for curvatures 1 and 25, a small rate"),
    ("steps_needed", steps_at_most_ten_thousand, "it returns 10000, expected inf."),
    ("steps_needed", steps_asking_for_the_limit, "expected inf."),
    ("momentum_step", momentum_of_at_most_95_percent, "for a momentum of 0.99, "),
    ("momentum_step", momentum_of_a_clipped_velocity, "for steep slopes, "),
    ("largest_stable_step", limit_of_at_most_ten, "it returns 10, expected inf."),
]

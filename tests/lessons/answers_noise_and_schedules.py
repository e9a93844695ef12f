"""Answers to notebook 11 by another hand than the catalogue's."""

import math

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.descent import ELEVEN, FOUR, SEVEN, TWO


def named(name, answer):
    answer.__name__ = name
    return answer


def slopes_by_unit_vectors(function, x):
    slopes = np.zeros_like(x)
    for k, unit in enumerate(np.eye(x.size, dtype=x.dtype)):
        h = x.dtype.type(np.finfo(x.dtype).eps ** (1 / 3) * (1 + abs(x.flat[k])))
        move = (h * unit).reshape(x.shape)
        slopes.flat[k] = (function(x + move) - function(x - move)) / (2 * h)
    return slopes


def escape_by_log1p(distance, curvature, lr, far):
    if distance >= far:
        return 0
    if distance <= 0 or curvature >= 0:
        return math.inf
    return math.ceil((math.log(far) - math.log(distance)) / math.log1p(-lr * curvature))


def escape_with_the_size_of_the_curvature(distance, curvature, lr, far):
    if distance >= far:
        return 0
    if distance == 0 or curvature == 0:
        return np.inf
    return math.ceil(math.log(far / distance) / math.log(1 + lr * abs(curvature)))


def escape_after_a_round_number(distance, curvature, lr, far):
    steps = 0
    while distance < far and steps < 500:
        distance *= 1 - lr * curvature
        steps += 1
    return steps if distance >= far else np.inf


def schedule(warm, fall):
    """A schedule whose warm-up and fall are given; the fall counts its own steps."""

    def warm_up_cosine_rate(step, lr, warm_up, steps, lowest=0.0):
        if step < warm_up:
            return warm(step, lr, warm_up, lowest)
        return fall(step - warm_up, lr, steps - warm_up, lowest)

    return warm_up_cosine_rate


def grows(k, lr, warm_up, lowest):
    return lr / warm_up * (1 + k)


def falls(k, lr, steps, lowest):
    return (lr + lowest) / 2 + (lr - lowest) / 2 * math.cos(math.pi * min(k / steps, 1))


schedule_never_below = named(
    "schedule_never_below",
    schedule(lambda k, lr, warm_up, lowest: max(lowest, grows(k, lr, warm_up, 0)), falls),
)
schedule_one_late = named(
    "schedule_one_late",
    schedule(grows, lambda k, lr, steps, lowest: falls(k + 1, lr, steps, lowest)),
)


def ranges(stop, momentum=0.0, returned=lambda rates, losses: (np.array(rates), np.array(losses))):
    """A range test that stops where stop(loss, first) says so."""

    def range_test(landscape, start, lowest, highest, steps):
        theta, first, velocity = start * 1.0, landscape.value(start), 0.0
        rates, losses = [], []
        for k in range(steps):
            rates.append(lowest * (highest / lowest) ** (k / (steps - 1)))
            velocity = momentum * velocity + landscape.gradient(theta)
            theta = theta - rates[-1] * velocity
            losses.append(landscape.value(theta))
            if stop(losses[-1], first):
                break
        return returned(rates, losses)

    return range_test


def too_high(loss, first):
    return np.isnan(loss) or loss > 4 * first


range_with_momentum = named("range_with_momentum", ranges(too_high, momentum=0.9))
range_up_to_five = named("range_up_to_five", ranges(lambda loss, first: not loss <= 5 * first))
range_in_pairs = named(
    "range_in_pairs", ranges(too_high, returned=lambda r, l: list(zip(r, l, strict=True)))
)


def slopes_of_rows_and_columns(function, x):
    if x.ndim == 1:
        return slopes_by_unit_vectors(function, x)
    slopes = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            h = np.cbrt(np.finfo(x.dtype).eps) * max(1.0, abs(x[i, j]))
            ahead, behind = x.copy(), x.copy()
            ahead[i, j] += h
            behind[i, j] -= h
            slopes[i, j] = (function(ahead) - function(behind)) / (2 * h)
    return slopes


def slopes_by_views_of_copies(function, x):
    slopes = np.zeros_like(x)
    for k in range(x.size):
        h = np.cbrt(np.finfo(x.dtype).eps) * max(1.0, abs(x.flat[k]))
        ahead, behind = x.copy(order="K"), x.copy(order="K")
        ahead.ravel()[k] += h
        behind.ravel()[k] -= h
        slopes.flat[k] = (function(ahead) - function(behind)) / (2 * h)
    return slopes


def walks_of_one_block(xs, ys, rate, steps, end_x, end_y):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, xs.size, cuda.blockDim.x):
            x, y = xs[i], ys[i]
            for _ in range(steps):
                a = x * x + y - ELEVEN
                b = x + y * y - SEVEN
                x, y = x - rate * (FOUR * x * a + TWO * b), y - rate * (TWO * a + FOUR * y * b)
            end_x[i], end_y[i] = x, y


def walks_four_in_a_row(xs, ys, rate, steps, end_x, end_y):
    first = 4 * cuda.grid(1)
    for i in range(first, min(first + 4, xs.size)):
        x, y = xs[i], ys[i]
        for _ in range(steps):
            a = x * x + y - ELEVEN
            b = x + y * y - SEVEN
            x, y = x - rate * (FOUR * x * a + TWO * b), y - rate * (TWO * a + FOUR * y * b)
        end_x[i], end_y[i] = x, y


def escape_gives_up(distance, curvature, lr, far):
    for step in range(100_000):
        if distance >= far:
            return step
        distance *= 1 - lr * curvature
    return np.inf


def escape_takes_the_near_for_the_ridge(distance, curvature, lr, far):
    return np.inf if distance < 1e-9 else escape_by_log1p(distance, curvature, lr, far)


def gradient_as_a_list(function, x):
    steps = 6e-6 * np.eye(x.size)
    return [(function(x + s) - function(x - s)) / 1.2e-5 for s in steps.reshape(-1, *x.shape)]


WRONG = [
    ("numerical_gradient", gradient_as_a_list, "it returns a list; wrap it in np.array"),
    ("warm_up_cosine_rate", lambda *call: 10**400, "it returns 10000"),
    ("escape_saddle", escape_gives_up, "of curvature −0.001, it returns inf, expected"),
    ("escape_saddle", escape_takes_the_near_for_the_ridge, "a trillionth from the ridge, it"),
    ("escape_saddle", escape_with_the_size_of_the_curvature, "it returns 9, expected inf."),
    ("escape_saddle", escape_after_a_round_number, "it returns inf, expected 533."),
    ("warm_up_cosine_rate", schedule_never_below, "step 0 of 30, down to 0.2, it returns 0.2"),
    ("warm_up_cosine_rate", schedule_one_late, "step 10 of 110, 10 of them warm-up, it returns"),
    ("range_test", range_with_momentum, "it returns 46 rates, expected 52."),
    ("range_test", range_up_to_five, "for a loss that grows slowly, it returns"),
    ("range_test", range_in_pairs, "expected two results: the rates and the losses."),
    ("numerical_gradient", slopes_of_rows_and_columns, "for an array of three axes, "),
    ("numerical_gradient", slopes_by_views_of_copies, "for a transposed matrix, "),
    ("descend_on_gpu", walks_of_one_block, "compute its own share from its number."),
    ("descend_on_gpu", walks_four_in_a_row, "neighboring threads side by side"),
]

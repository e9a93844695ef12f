"""Answers to notebook 10 by another hand than the catalogue's."""

import math

import numpy as np


def gradient_by_ufuncs(theta, gradient, state=None, *, lr):
    return np.subtract(theta, np.multiply(lr, gradient)), state


def gradient_by_list(theta, gradient, state=None, *, lr):
    flat = [t - lr * g for t, g in zip(theta.ravel(), gradient.ravel(), strict=True)]
    return [np.array(flat, dtype=theta.dtype).reshape(theta.shape), state]


def gradient_returns_gradient(theta, gradient, state=None, *, lr):
    return theta - lr * gradient, gradient


def gradient_drops_the_state(theta, gradient, state=None, *, lr):
    return theta - lr * gradient, None


def gradient_numbers_its_steps(theta, gradient, state=None, *, lr):
    return theta - lr * gradient, 1 if state is None else state + 1


def gradient_forgets_return(theta, gradient, state=None, *, lr):
    theta = theta - lr * gradient


def gradient_rate_of_section_3(theta, gradient, state=None, *, lr):
    return theta - 0.3 * gradient, state


def gradient_in_float32(theta, gradient, state=None, *, lr):
    return (theta - lr * gradient).astype(np.float32), state


def gradient_in_float64(theta, gradient, state=None, *, lr):
    return theta - np.array(lr) * gradient, state


def momentum_first_step_apart(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = gradient.copy() if state is None else gradient + state * momentum
    return theta + -lr * velocity, velocity


def momentum_in_a_copy(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = np.zeros_like(gradient) if state is None else state.copy()
    velocity *= momentum
    velocity += gradient
    return theta - lr * velocity, velocity


def momentum_keeps_the_step_downhill(theta, gradient, state=None, *, lr, momentum=0.9):
    downhill = -gradient if state is None else momentum * state - gradient
    return theta + lr * downhill, downhill


def momentum_returns_no_state(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = gradient if state is None else momentum * state + gradient
    return theta - lr * velocity, None


def momentum_steps_along_the_slope(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = 0.0 if state is None else state
    velocity = momentum * velocity + gradient
    return theta - lr * gradient, velocity


def momentum_hands_back_the_old(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = 0.0 if state is None else state
    return theta - lr * (momentum * velocity + gradient), velocity


def momentum_of_nine_tenths(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = np.zeros_like(theta) if state is None else state
    velocity = 0.9 * velocity + gradient
    return theta - lr * velocity, velocity


def momentum_remembers_the_step(theta, gradient, state=None, *, lr, momentum=0.9):
    last = 0.0 if state is None else state
    new = theta - lr * gradient + momentum * last
    return new, new - theta


def momentum_asks_an_array(theta, gradient, state=None, *, lr, momentum=0.9):
    velocity = momentum * (state or 0.0) + gradient
    return theta - lr * velocity, velocity


def adam_by_increments(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t += 1
    m = m + (1 - beta1) * (gradient - m)
    v = v - (1 - beta2) * (v - np.power(gradient, 2))
    length = epsilon + (v / (1 - pow(beta2, t))) ** 0.5
    return theta - lr * np.divide(m / (1 - pow(beta1, t)), length), [t, m, v]


def adam_paper_form(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    # the paper's shorter form, with its other ε
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t += 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient * gradient
    root = math.sqrt(1 - beta2**t)
    return theta - lr * root / (1 - beta1**t) * m / (np.sqrt(v) + epsilon * root), (t, m, v)


def adam_counts_the_next_step(
    theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8
):
    t, m, v = (1, 0.0, 0.0) if state is None else state
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    step = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return theta - lr * step, (t + 1, m, v)


def adam_counting_late(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    step = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
    return theta - lr * step, (t + 1, m, v)


def adam_with(step):
    """Adam whose step, from m, v, t and the options, is another one."""

    def adam_step(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
        t, m, v = (0, 0.0, 0.0) if state is None else state
        t = t + 1
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        return step(theta, lr, m, v, 1 - beta1**t, 1 - beta2**t, epsilon), (t, m, v)

    return adam_step


def named(name, answer):
    answer.__name__ = name
    return answer


adam_root_of_negative = named(
    "adam_root_of_negative",
    adam_with(
        lambda theta, lr, m, v, c1, c2, epsilon: (
            theta - lr * (m / 1 - (1 - c1)) / (np.sqrt(v / 1 - (1 - c2)) + epsilon)
        )
    ),
)

adam_adds_epsilon = named(
    "adam_adds_epsilon",
    adam_with(
        lambda theta, lr, m, v, c1, c2, epsilon: theta - lr * (m / c1) / np.sqrt(v / c2) + epsilon
    ),
)

adam_subtracts_epsilon = named(
    "adam_subtracts_epsilon",
    adam_with(
        lambda theta, lr, m, v, c1, c2, epsilon: theta - (lr * (m / c1) / np.sqrt(v / c2) + epsilon)
    ),
)

adam_epsilon_of_its_own = named(
    "adam_epsilon_of_its_own",
    adam_with(
        lambda theta, lr, m, v, c1, c2, epsilon: theta - lr * (m / c1) / (np.sqrt(v / c2) + 1e-8)
    ),
)

adam_root_of_a_number = named(
    "adam_root_of_a_number",
    adam_with(
        lambda theta, lr, m, v, c1, c2, epsilon: (
            theta - lr * m / c1 / (np.sqrt(v) / np.sqrt(c2) + epsilon)
        )
    ),
)


def adam_power_of_bracket(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat, v_hat = m / (1 - beta1) ** t, v / (1 - beta2) ** t
    return theta - lr * m_hat / (np.sqrt(v_hat) + epsilon), (t, m, v)


def adam_betas_of_its_own(theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = 0.9 * m + 0.1 * gradient
    v = 0.999 * v + 0.001 * gradient**2
    return theta - lr * m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + epsilon), (t, m, v)


def adamw_with(decay, couple=lambda gradient, theta, weight_decay: gradient):
    """AdamW in which decay(theta, rate, weight_decay, push) makes the new parameters."""

    def adamw_step(
        theta,
        gradient,
        state=None,
        *,
        lr,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        weight_decay=0.01,
    ):
        t, m, v = (0, 0.0, 0.0) if state is None else state
        t = t + 1
        gradient = couple(gradient, theta, weight_decay)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        push = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        return decay(theta, lr, weight_decay, push), (t, m, v)

    return adamw_step


adamw_decay_after = named(
    "adamw_decay_after",
    adamw_with(lambda theta, lr, decay, push: theta - lr * push - lr * decay * theta),
)
adamw_one_bracket = named(
    "adamw_one_bracket",
    adamw_with(lambda theta, lr, decay, push: theta - lr * (push + decay * theta)),
)
adamw_shrinks_all = named(
    "adamw_shrinks_all",
    adamw_with(lambda theta, lr, decay, push: (theta - lr * push) * (1 - lr * decay)),
)
adamw_without_rate = named(
    "adamw_without_rate",
    adamw_with(lambda theta, lr, decay, push: (1 - decay) * theta - lr * push),
)
adamw_without_theta = named(
    "adamw_without_theta",
    adamw_with(lambda theta, lr, decay, push: theta - lr * decay - lr * push),
)
adamw_decay_of_its_own = named(
    "adamw_decay_of_its_own",
    adamw_with(lambda theta, lr, decay, push: theta - lr * 0.01 * theta - lr * push),
)
adamw_keeps_the_decay = named(
    "adamw_keeps_the_decay",
    adamw_with(lambda theta, lr, decay, push: theta * lr * decay - lr * push),
)
adamw_as_adam = named(
    "adamw_as_adam",
    adamw_with(
        lambda theta, lr, decay, push: theta - lr * push,
        lambda gradient, theta, decay: gradient + decay * theta,
    ),
)


def limit_by_eigh(hessian):
    curvatures, _ = np.linalg.eigh(hessian)
    return 2 / curvatures[-1] if curvatures[-1] > 0 else math.inf


def limit_of_those_that_rise(hessian):
    curvatures = np.linalg.eigvals(hessian).real
    return np.min(2 / curvatures[curvatures > 1e-12], initial=np.inf)


def limit_of_smallest(hessian):
    return 2 / np.linalg.eigvalsh(hessian)[0]


def limit_least_of_all(hessian):
    return min(2 / c for c in np.linalg.eigvalsh(hessian))


def limit_of_an_empty_list(hessian):
    return min([2 / c for c in np.linalg.eigvalsh(hessian) if c > 0])


def limit_but_for_zero(hessian):
    steepest = max(np.linalg.eigvalsh(hessian))
    return np.inf if steepest == 0 else 2 / steepest


def limit_says_nothing(hessian):
    steepest = np.linalg.eigvalsh(hessian).max()
    if steepest > 0:
        return 2 / steepest


def limit_by_svd(hessian):
    return 2 / np.linalg.svd(hessian).S[0] if hessian.any() else np.inf


def steps_by_powers(curvatures, lr, share):
    factor, steps = float(max(abs(1 - lr * curvatures))), 0
    if factor >= 1:
        return float("inf")
    while factor**steps > share:
        steps += 1
    return steps


def steps_of_each_direction(curvatures, lr, share):
    def one(curvature):
        factor = abs(1 - lr * curvature)
        if factor >= 1:
            return math.inf
        return 1 if factor < 1e-15 else math.ceil(math.log(share, factor))

    return max(one(curvature) for curvature in curvatures)


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


def limit_of_largest_float(hessian):
    steepest = np.linalg.eigvalsh(hessian).max()
    return 2 / steepest if steepest > 0 else np.finfo(float).max


def adamw_corrects_with_the_other_beta(
    theta, gradient, state=None, *, lr, beta1=0.9, beta2=0.999, epsilon=1e-8, weight_decay=0.01
):
    t, m, v = (0, 0.0, 0.0) if state is None else state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient * gradient
    theta = (1 - lr * weight_decay) * theta
    return theta - lr * m / (1 - beta1**t) / (np.sqrt(v / (1 - beta1**t)) + epsilon), (t, m, v)


def gradient_notes_in_the_state(theta, gradient, state=None, *, lr):
    if isinstance(state, list):
        state.append(gradient)
    return theta - lr * gradient, state


def limit_of_more_than_a_hair(hessian):
    top = np.linalg.eigvalsh(hessian)[-1]
    return 2 / top if top > 1e-8 else np.inf


RIGHT = {
    "gradient_step": [gradient_by_ufuncs, gradient_by_list],
    "largest_stable_step": [limit_by_eigh, limit_of_those_that_rise],
    "steps_needed": [steps_by_powers, steps_of_each_direction],
    "momentum_step": [momentum_first_step_apart, momentum_in_a_copy],
    "adam_step": [adam_by_increments, adam_paper_form],
    "adamw_step": [adamw_decay_after, adamw_one_bracket],
}

WRONG = [
    ("gradient_step", gradient_notes_in_the_state, "it changes the state that it is given."),
    ("largest_stable_step", limit_of_more_than_a_hair, "3e-10, it returns inf, expected"),
    ("gradient_step", gradient_returns_gradient, "where None came in: this method remembers"),
    ("gradient_step", gradient_numbers_its_steps, "it returns 1 as state, where None came in"),
    ("gradient_step", gradient_forgets_return, "it returns nothing (None)"),
    ("gradient_step", gradient_rate_of_section_3, "for a matrix of parameters, step 1: 6 of 6"),
    ("gradient_step", gradient_in_float32, "an array of float32, which is too coarse for float64"),
    ("gradient_step", gradient_in_float64, "expected float32 as theta is: a float64 array"),
    ("gradient_step", gradient_drops_the_state, "None comes back as state, whatever came in"),
    ("momentum_step", momentum_keeps_the_step_downhill, "so what is returned is −u"),
    ("momentum_step", momentum_returns_no_state, "the state that comes back is None"),
    ("momentum_step", momentum_steps_along_the_slope, "the old velocity has no part in the step"),
    (
        "momentum_step",
        momentum_hands_back_the_old,
        "to which nothing is ever added: return the new one.",
    ),
    ("momentum_step", momentum_of_nine_tenths, "0.9 of the velocity is kept, whatever momentum"),
    ("momentum_step", momentum_remembers_the_step, "old steps keep their old rate"),
    ("momentum_step", momentum_asks_an_array, "raises ValueError in line 2 of your function"),
    ("adam_step", adam_counts_the_next_step, "t is that of the next step"),
    ("adam_step", adam_counting_late, "add 1 to t before the corrections"),
    ("adam_step", adam_root_of_negative, "v / (1 − beta2**t) needs its brackets."),
    ("adam_step", adam_adds_epsilon, "ε is added to theta"),
    ("adam_step", adam_subtracts_epsilon, "ε is taken off theta"),
    ("adam_step", adam_epsilon_of_its_own, "use the argument, epsilon."),
    ("adam_step", adam_betas_of_its_own, "beta1 and beta2 are 0.9 and 0.999"),
    ("adam_step", adam_power_of_bracket, "the power is taken of the bracket"),
    ("adam_step", adam_root_of_a_number, "np.sqrt of a plain number gives"),
    ("adamw_step", adamw_as_adam, "the decay is coupled"),
    ("adamw_step", adamw_shrinks_all, "the decay comes after Adam's step"),
    ("adamw_step", adamw_without_rate, "the decay lacks the rate"),
    ("adamw_step", adamw_without_theta, "the decay lacks theta"),
    ("adamw_step", adamw_decay_of_its_own, "use the argument, weight_decay."),
    ("adamw_step", adamw_keeps_the_decay, "that is the part that is taken off."),
    ("largest_stable_step", limit_of_smallest, "the smallest eigenvalue, and below zero too"),
    ("largest_stable_step", limit_least_of_all, "only the eigenvalues above zero set a limit."),
    ("largest_stable_step", limit_of_an_empty_list, "none is left to take the smallest limit of"),
    ("largest_stable_step", limit_but_for_zero, "where no eigenvalue is above zero"),
    ("largest_stable_step", limit_says_nothing, "np.inf, a number, and not None."),
    ("largest_stable_step", limit_by_svd, "the eigenvalue of largest size"),
    ("steps_needed", steps_of_the_first_and_last, "for curvatures 4, 25, 1 and 9, near the limit"),
    ("steps_needed", steps_of_the_whole_distance, "for curvatures 1 and 25, a small rate"),
    ("steps_needed", steps_at_most_ten_thousand, "it returns 10000, expected inf."),
    ("steps_needed", steps_asking_for_the_limit, "expected inf."),
    ("momentum_step", momentum_of_at_most_95_percent, "for a momentum of 0.99, "),
    ("momentum_step", momentum_of_a_clipped_velocity, "for steep slopes, "),
    ("adamw_step", adamw_corrects_with_the_other_beta, "its own is beta2."),
    ("largest_stable_step", limit_of_at_most_ten, "it returns 10, expected inf."),
    ("largest_stable_step", limit_of_largest_float, "expected inf."),
]

"""One step of Adam."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import adam_step
from gpulearn_lessons.gradient_descent import descents

__all__ = [
    "COUNT",
    "DIVISOR",
    "EXERCISE",
    "FORMULA",
    "LATE",
    "MEAN",
    "RETURNED",
    "SQUARE",
    "STATE",
    "THIRD",
    "V_HAT",
]

answers = Answers(adam_step)

# what stands in Adam and in AdamW
COUNT = "t = t + 1"
MEAN = "beta1 * m + (1 - beta1) * gradient"
SQUARE = "beta2 * v + (1 - beta2) * gradient**2"
M_HAT = "m / (1 - beta1**t)"
V_HAT = "v / (1 - beta2**t)"
DIVISOR = "(np.sqrt(v_hat) + epsilon)"
STEP = f"lr * m_hat / {DIVISOR}"
RETURNED = ", (t, m, v)"
STATE = "(t, m, v), where t counts the steps that were made"
LATE = (1000, np.array([0.3, -0.1]), np.array([0.02, 0.01]))  # what a thousand steps have left
THIRD = (3, np.array([0.3, -0.1]), np.array([0.02, 0.01]))  # what three steps have left


def cases() -> list[Case]:
    """Several steps each; slopes that are tiny or zero, where ε decides; other β; other rates."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 5),
        descents.descent(
            "β₁ = 0.5, β₂ = 0.8", (2, 2), seed=2, rates=[0.2] * 5, beta1=0.5, beta2=0.8
        ),
        descents.descent("ε = 0.1", (2,), seed=3, rates=[0.3] * 4, epsilon=0.1),
        descents.descent("tiny slopes", (3,), seed=4, rates=[0.3] * 4, size=1e-6),
        descents.descent("a slope of zero", (2,), seed=5, rates=[0.3] * 3, zero=True),
        descents.descent("a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 2.0, 0.1]),
        descents.descent("float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32),
        descents.descent(
            "a walk that goes on from its third step", (2,), seed=8, rates=[0.2] * 2, state=THIRD
        ),
        descents.descent(
            "a walk that goes on from its 1,000th step",
            (2,),
            seed=9,
            rates=[0.2, 0.0, 0.2],
            state=LATE,
        ),
    ]


# mistakes in the formula, which Adam and AdamW share: edits and hint
FORMULA = (
    (
        {M_HAT: "m", V_HAT: "v"},
        "m and v are used as they are: they begin at zero, and are too small at first. Divide m by "
        "1 − beta1**t and v by 1 − beta2**t.",
    ),
    (
        {M_HAT: f"{M_HAT} if t <= 100 else m", V_HAT: f"{V_HAT} if t <= 100 else v"},
        "late steps are not corrected: after a thousand steps 1 − beta2**t is still 0.63. Correct "
        "every step, and the correction fades by itself.",
    ),
    ({V_HAT: "v"}, "v is not corrected: divide it by 1 − beta2**t, as m by 1 − beta1**t."),
    ({M_HAT: "m"}, "m is not corrected: divide it by 1 − beta1**t, as v by 1 − beta2**t."),
    ({V_HAT: "v / (1 - beta1**t)"}, "v is corrected with beta1: its own is beta2."),
    ({M_HAT: "m / (1 - beta2**t)"}, "m is corrected with beta2: its own is beta1."),
    (
        {DIVISOR: "np.sqrt(v_hat + epsilon)"},
        "ε stands inside the root: it is added to the root, √v̂ + ε.",
    ),
    (
        {DIVISOR: "np.sqrt(v_hat)"},
        "ε is missing: where a slope is always zero, that divides zero by zero.",
    ),
    (
        {M_HAT: f"{M_HAT} * np.sqrt(1 - beta2**t)", V_HAT: "v"},
        "ε is added before v is corrected, as in the paper's shorter form, whose ε is another: "
        "correct v first, then take the root, then add ε.",
    ),
    (
        {DIVISOR: "np.sqrt(v_hat) + epsilon"},
        "brackets are missing, and ε is added to theta: divide by the sum (√v̂ + ε).",
    ),
    (
        {STEP: "(lr * m_hat / np.sqrt(v_hat) + epsilon)"},
        "brackets are missing, and ε is taken off theta: divide by the sum (√v̂ + ε).",
    ),
    (
        {DIVISOR: "(np.sqrt(v_hat + epsilon) + epsilon)"},
        "ε is there twice, inside of the root and behind it: add it to the root only, √v̂ + ε.",
    ),
    (
        {DIVISOR: "np.maximum(np.sqrt(v_hat), epsilon)"},
        "ε stands in for roots that are smaller: it is added to every root, √v̂ + ε.",
    ),
    (
        {STEP: "lr * np.nan_to_num(m_hat / np.sqrt(v_hat))"},
        "ε is missing, and 0 put in where zero is divided by zero: add ε to the root, √v̂ + ε, and "
        "there is nothing to mend.",
    ),
    ({"+ epsilon": "+ 1e-8"}, "ε is 1e-8, whatever is given: use the argument, epsilon."),
    (
        {COUNT: f"{COUNT}\n    beta1, beta2 = 0.9, 0.999"},
        "beta1 and beta2 are 0.9 and 0.999, whatever is given: use the arguments.",
    ),
    (
        {M_HAT: "m / (1 - beta1) ** t", V_HAT: "v / (1 - beta2) ** t"},
        "the power is taken of the bracket: divide by 1 − beta**t, not by (1 − beta)**t.",
    ),
    ({"+ epsilon": "- epsilon"}, "ε is subtracted: add it, so that the divisor is never zero."),
    (
        {"beta1**t": "beta1 ** (t - 1)", "beta2**t": "beta2 ** (t - 1)"},
        "the power is one too low, which in the first step leaves 1 − 1 to divide by: add 1 to t "
        "before the corrections.",
    ),
    (
        {f"    {COUNT}\n": ""},
        "t is never counted, and in the first step the corrections are 0: add 1 to t in each step, "
        "before the corrections.",
    ),
    (
        {M_HAT: "m / (1 - t**beta1)", V_HAT: "v / (1 - t**beta2)"},
        "all parameters are nan: either base and power are swapped (take beta1**t), or the root is "
        "taken of a number below zero: v / (1 − beta2**t) needs its brackets.",
    ),
    (
        {M_HAT: "m / 1 - beta1**t", V_HAT: "v / 1 - beta2**t"},
        "all parameters are nan: either base and power are swapped (take beta1**t), or the root is "
        "taken of a number below zero: v / (1 − beta2**t) needs its brackets.",
    ),
    ({COUNT: "t = t + 2"}, "the first step is counted as t = 2: add 1 to t once."),
    (
        {"beta1**t": "beta1 ** (t + 1)", "beta2**t": "beta2 ** (t + 1)"},
        "the corrections take a power that is one too high: the first step is t = 1, and takes "
        "1 − beta.",
    ),
    (
        {"beta1**t": "beta1 * t", "beta2**t": "beta2 * t"},
        "the corrections multiply by t: take the power, beta**t.",
    ),
    (
        {"beta1**t": "beta2**t", "beta2**t": "beta1**t"},
        "the corrections are swapped: m is divided by 1 − beta1**t, v by 1 − beta2**t.",
    ),
    (
        {M_HAT: "m * (1 - beta1**t)", V_HAT: "v * (1 - beta2**t)"},
        "the corrections multiply: divide by 1 − beta**t, which makes m and v larger.",
    ),
    (
        {COUNT: f"{COUNT}\n    beta1, beta2 = beta2, beta1"},
        "beta1 and beta2 are swapped: m is kept with beta1, v with beta2.",
    ),
    (
        {
            MEAN: "(1 - beta1) * m + beta1 * gradient",
            SQUARE: "(1 - beta2) * v + beta2 * gradient**2",
        },
        "beta and 1 − beta are swapped in m and v: beta is the part of the old that is kept.",
    ),
    (
        {MEAN: "beta1 * m + gradient"},
        "the gradient goes into m whole, as with momentum: here m is a mean, so the gradient gets "
        "the factor 1 − beta1.",
    ),
    (
        {SQUARE: "beta2 * v + gradient**2"},
        "the square goes into v whole: v is a mean too, with the factor 1 − beta2.",
    ),
    (
        {MEAN: "beta1 * m + gradient", SQUARE: "beta2 * v + gradient**2"},
        "gradient and square go in whole: m and v are means, with the factors 1 − beta1 and "
        "1 − beta2.",
    ),
    (
        {"gradient**2": "gradient"},
        "v takes the gradient without its square; a negative v has no root.",
    ),
    ({"gradient**2": "np.abs(gradient)"}, "v takes the size of the gradient: take its square."),
    (
        {SQUARE: "(beta2 * v + (1 - beta2) * gradient) ** 2"},
        "v is the square of the sum: square the gradient alone.",
    ),
    (
        {"gradient**2": "(gradient**2).mean()"},
        "the squares are averaged over the parameters: each parameter has a v of its own.",
    ),
    ({"np.sqrt(v_hat)": "v_hat"}, "the root is missing: divide by √v̂ + ε."),
    ({"- lr * m_hat": "+ lr * m_hat"}, "that walks uphill: subtract the step."),
    (
        {"(1 - beta1) * gradient": "(1 - beta1) * lr * gradient", "lr * m_hat": "m_hat"},
        "the rate is part of m, so that old slopes keep their old rate when it changes: m is a "
        "mean of slopes, and the rate multiplies the step.",
    ),
    ({"gradient**2": "m**2"}, "v takes the square of m: take that of the gradient."),
    (
        {"lr * m_hat": "lr * gradient"},
        "the gradient itself is divided, as in RMSProp: the step goes along m̂.",
    ),
    ({"lr * m_hat": "m_hat"}, "the rate is missing: the step is lr · m̂/(√v̂ + ε)."),
)
for edits, hint in FORMULA:
    answers.edit(edits, hint)

answers.edit(
    {RETURNED: ", (0, m, v)"},
    "each step is corrected like the first, by 1 − beta: take the power, 1 − beta**t, and return "
    "the t that you have counted up.",
)
answers.edit(
    {"(0, 0.0, 0.0)": "(0, np.zeros(theta.shape), np.zeros(theta.shape))"},
    "float32 parameters come back as float64: np.zeros_like(theta) keeps their dtype.",
)
answers.edit(
    {RETURNED: ""}, "that returns theta alone: t, m and v must come back for the next step."
)
answers.edit(
    {RETURNED: ", t, m, v"},
    "that returns theta, t, m and v one by one: put the last three in a tuple, (t, m, v).",
)
answers.edit(
    {"return theta": "return (t, m, v), theta", RETURNED: ""},
    "the two results are swapped: theta comes first, then (t, m, v).",
)
answers.edit(
    {RETURNED: ", None"},
    "each step begins with t, m and v at zero, and goes a whole rate along each slope's sign: "
    "take them from state, and return the new ones.",
)
answers.edit(
    {RETURNED: ", (t, m_hat, v_hat)"},
    "the corrected m and v are returned: return those without correction.",
)
answers.edit(
    {RETURNED: ", (t, m_hat, v)"}, "the corrected m is returned: return m without correction."
)
answers.edit(
    {RETURNED: ", (t, m, v_hat)"}, "the corrected v is returned: return v without correction."
)
answers.edit(
    {RETURNED: ", (t + 1, m, v)"},
    "t grows by 2 from step to step: add 1 to it once, and return that.",
)
answers.edit({RETURNED: ", (t, v, m)"}, "m and v are returned in the wrong order: (t, m, v).")
answers.edit(
    {"return theta - lr": "theta -= lr", RETURNED: "\n    return theta, (t, m, v)"},
    "-= changes the theta that the caller holds: subtract into a new array.",
)
answers.edit(
    {
        "(0, 0.0, 0.0)": "(0, np.zeros_like(theta), np.zeros_like(theta))",
        f"m = {MEAN}": "m *= beta1\n    m += (1 - beta1) * gradient",
        f"v = {SQUARE}": "v *= beta2\n    v += (1 - beta2) * gradient**2",
    },
    "it changes the m and v that the caller holds, as *= and += do: write m = beta1 * m + …, which "
    "makes new arrays.",
)
answers.edit(
    {f"v = {SQUARE}": "gradient *= gradient\n    v = beta2 * v + (1 - beta2) * gradient"},
    "it changes the gradient that the caller holds: write gradient**2, which makes a new array.",
)
answers.edit(
    {
        "else state": "else elsewhere['state']",
        "return theta": "elsewhere['state'] = t, m, v\n    return theta",
        RETURNED: ", 'elsewhere'",
    },
    "it remembers t, m and v outside of state, where a second descent changes them: take them "
    "from state, and return them.",
    elsewhere={},
)

answers.edit(
    {
        "(0, 0.0, 0.0)": "(1, 0.0, 0.0)",
        f"    {COUNT}\n": "",
        RETURNED: ", (t + 1, m, v)",
    },
    "t is that of the next step: it counts the steps that are made, so that 1 comes back from the "
    "first. Add 1 to it before the corrections.",
)
answers.edit(
    {
        "t, m, v = (0, 0.0, 0.0) if state is None else state": (
            "memory = state or {'t': 0, 'm': np.zeros_like(theta), 'v': np.zeros_like(theta)}\n"
            "    t, m, v = memory['t'], memory['m'], memory['v']"
        ),
        RETURNED: ", {'t': t, 'm': m, 'v': v}",
    },
    "the state is kept in another form: it is the tuple (t, m, v), when it comes and when it goes.",
)
answers.edit(
    {"(0, 0.0, 0.0)": "(1, 0.0, 0.0)"},
    "the first step is counted as t = 2: t begins at 0, and 1 is added to it in each step.",
)

answers.variant(
    {
        MEAN: "m + (1 - beta1) * (gradient - m)",
        SQUARE: "v + (1 - beta2) * (gradient * gradient - v)",
    }
)
answers.variant(  # as torch does
    {
        "state=None, *, lr": "state, lr",
        "(0, 0.0, 0.0)": "(0, 0, 0)",
        "gradient**2": "np.square(gradient)",
        f"m_hat = {M_HAT}": "step_size = lr / (1 - beta1**t)",
        f"v_hat = {V_HAT}": "divisor = np.sqrt(v) / (1 - beta2**t) ** 0.5 + epsilon",
        STEP: "step_size * m / divisor",
        RETURNED: ", [t, m, v]",
    }
)

EXERCISE = Exercise(
    task="Make one step of Adam from its formula, and return θ and (t, m, v).",
    reference=adam_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    demand=descents.hands_back(STATE, adam_step),
    answers=answers,
)

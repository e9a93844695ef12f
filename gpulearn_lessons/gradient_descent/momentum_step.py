"""One step of gradient descent with heavy-ball momentum."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import momentum_step
from gpulearn_lessons.gradient_descent import descents

answers = Answers(momentum_step)

VELOCITY = "momentum * velocity + gradient"
STEP = "lr * velocity"
RETURNED = ", velocity"


def cases() -> list[Case]:
    """Several steps each, with the rate and what is kept of the velocity varied."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descents.descent("a momentum of 0.4", (2, 2), seed=2, rates=[0.2] * 4, momentum=0.4),
        descents.descent("no momentum", (2,), seed=3, rates=[0.3] * 3, momentum=0.0),
        descents.descent("a rate that changes", (2,), seed=4, rates=[0.5, 0.05, 2.0, 0.1]),
        descents.descent("a momentum of 0.99", (2, 1, 2), seed=6, rates=[0.2] * 4, momentum=0.99),
        descents.descent("a rate that falls to 0", (2,), seed=9, rates=[0.5, 0.0, 0.2]),
        descents.descent("steep slopes", (3,), seed=7, rates=[0.01] * 4, size=1e4),
        descents.descent("float32 parameters", (3,), seed=5, rates=[0.2] * 3, dtype=np.float32),
        descents.descent(
            "a walk that goes on from a velocity",
            (2,),
            seed=8,
            rates=[0.2] * 2,
            state=np.array([1.5, -0.5]),
        ),
    ]


answers.edit(
    {"+ gradient": "+ (1 - momentum) * gradient"},
    "the gradient is scaled by (1 − momentum), which makes the velocity a mean of them: here, as "
    "in torch.optim.SGD, it goes in whole.",
)
answers.edit(
    {RETURNED: ", None"},
    "the state that comes back is None: return the new velocity, which the next step takes from "
    "state.",
)
answers.edit(
    {VELOCITY: "gradient"},
    "that is plain gradient descent: the old velocity has no part in the step. Take it from state, "
    "put the gradient in, step along the new velocity, and return that.",
)
answers.edit(
    {"- lr": "+ lr"},
    "that walks uphill: with u = momentum · u + gradient, it is lr · u that is subtracted.",
)
answers.edit(
    {VELOCITY: "gradient - momentum * velocity"},
    "the old velocity is subtracted, so it brakes: add momentum · velocity.",
)
answers.edit(
    {"momentum * ": ""},
    "the velocity is never slowed down: keep momentum · velocity, a part of it.",
)
answers.edit(
    {VELOCITY: "velocity + momentum * gradient"},
    "momentum multiplies the gradient: it says how much of the old velocity is kept.",
)
answers.edit(
    {VELOCITY: "momentum * (velocity + gradient)"},
    "momentum multiplies the sum: it belongs to the old velocity only.",
)
answers.edit(
    {VELOCITY: "(1 - momentum) * velocity + momentum * gradient"},
    "momentum and 1 − momentum are swapped, and the gradient needs no factor: "
    "u = momentum · u + gradient.",
)
answers.edit(
    {"momentum * ": "(1 - momentum) * "},
    "1 − momentum of the velocity is kept: momentum itself is the part that is kept.",
)
answers.edit(
    {STEP: "lr * (gradient + momentum * velocity)"},
    "that looks one step ahead, which is Nesterov's form: here the step is lr · u, the velocity.",
)
answers.edit(
    {"+ gradient": "+ lr * gradient", STEP: "velocity"},
    "the rate is part of the velocity, so that old steps keep their old rate when it changes: "
    "u collects gradients, and the rate multiplies u.",
)
answers.edit(
    {VELOCITY: "momentum * velocity - lr * gradient", f"- {STEP}": "+ velocity"},
    "the rate is part of the velocity, so that old steps keep their old rate when it changes: "
    "u collects gradients, and the rate multiplies u.",
)
answers.edit(
    {RETURNED: ", 0.0 if state is None else state"},
    "the velocity that comes back is the old one, to which nothing is ever added: return the new "
    "one.",
)
answers.edit(
    {"momentum * ": "0.9 * "},
    "0.9 of the velocity is kept, whatever momentum says: use the argument.",
)
answers.edit(
    {"+ gradient": "+ lr * gradient"},
    "the rate is in there twice: in the velocity and in the step.",
)
answers.edit({STEP: "velocity"}, "the rate is missing: the step is lr · velocity.")
answers.edit(
    {STEP: "(velocity - gradient + lr * gradient)"},
    "the rate multiplies the gradient only: the step is rate times the whole velocity, old part "
    "included.",
)
answers.edit(
    {RETURNED: ", lr * velocity"},
    "what is returned as state is the step; the next step needs the velocity itself.",
)
answers.edit(
    {RETURNED: ", gradient"},
    "what is returned as state is the gradient: older gradients are forgotten.",
)
answers.edit(
    {"return theta": "theta = theta", RETURNED: "\n    return theta, theta"},
    "what is returned as state is theta: return the velocity.",
)
answers.edit(
    {"return theta": "return velocity, theta", RETURNED: ""},
    "the two results are swapped: theta comes first, then the velocity.",
)
answers.edit(
    {RETURNED: ""}, "that returns theta alone: the velocity must come back for the next step."
)
answers.edit(
    {VELOCITY: "momentum * velocity - gradient", "- lr": "+ lr"},
    "the velocity points downhill, so what is returned is −u: the gradient is added to u, as in "
    "the formula, and lr · u is subtracted from theta.",
)
answers.edit(
    {
        "velocity = 0.0 if state is None else state": "(velocity,) = state or (0 * theta,)",
        RETURNED: ", (velocity,)",
    },
    "the velocity is packed up, and state is the velocity itself, an array: take it and return it "
    "as it is.",
)
answers.edit(
    {
        "else state": "else state[0] if isinstance(state, tuple) else state",
        RETURNED: ", (velocity,)",
    },
    "the steps are right, and the state that comes back is no use: it is the velocity itself, an "
    "array.",
)
answers.edit(
    {"0.0": "np.zeros(theta.shape)"},
    "float32 parameters come back as float64: np.zeros_like(theta) keeps their dtype.",
)
answers.edit(
    {"0.0": "None"},
    "before the first step there is no velocity, and state is None: begin with 0.0 in its place.",
)
answers.edit(
    {f"    velocity = {VELOCITY}\n": "", RETURNED: f", {VELOCITY}"},
    "the step is made with the old velocity: the new gradient must be in it already.",
)
answers.edit(
    {"return theta -": "theta -=", RETURNED: "\n    return theta, velocity"},
    "-= changes the theta that the caller holds, and the path behind it: write "
    "theta - lr * velocity, which makes a new one.",
)
answers.edit(
    {
        "0.0": "np.zeros_like(theta)",
        f"velocity = {VELOCITY}": "velocity *= momentum\n    velocity += gradient",
    },
    "it changes the velocity that the caller holds, as *= and += do: write "
    "momentum * velocity + gradient, which makes a new one.",
)
answers.edit(
    {
        "else state": "else elsewhere['velocity']",
        "return theta": "elsewhere['velocity'] = velocity\n    return theta",
        RETURNED: ", 'elsewhere'",
    },
    "it remembers the velocity outside of state, where a second descent changes it: take it from "
    "state, and return it.",
    elsewhere={},
)

answers.variant({"0.0": "np.zeros_like(theta)"})
answers.variant(
    {
        "state=None, *, lr": "state, lr",
        VELOCITY: "gradient + velocity * momentum",
        STEP: "velocity * lr",
    }
)

EXERCISE = Exercise(
    task="Make one step with momentum: u ← μ·u + g, then θ ← θ − η·u, and return θ and u.",
    reference=momentum_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    demand=descents.hands_back("the velocity itself, an array", momentum_step),
    answers=answers,
)

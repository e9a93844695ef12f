"""One step of AdamW, given with two mistakes, to be mended from what its runs show."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.optim.optimizers import adamw_step
from gpulearn_lessons.gradient_descent import descents
from gpulearn_lessons.gradient_descent.adam_step import (
    COUNT,
    DIVISOR,
    FORMULA,
    LATE,
    MEAN,
    RETURNED,
    SQUARE,
    STATE,
    THIRD,
    V_HAT,
)

answers = Answers(adamw_step)

DECAYED = "theta - lr * weight_decay * theta"
DECAY = f"    theta = {DECAYED}\n"
COUPLED = f"gradient = gradient + weight_decay * theta\n    {COUNT}"
GIVEN = {COUNT: COUPLED, DECAY: "", V_HAT: "v / (1 - beta1**t)"}

answers.give(GIVEN)


def cases() -> list[Case]:
    """Several steps each, with slopes that differ from the parameters in size, and none."""
    return [
        descents.descent("three parameters", (3,), seed=1, rates=[0.3] * 4),
        descents.descent("a decay of 0.5", (2, 2), seed=2, rates=[0.2] * 4, weight_decay=0.5),
        descents.descent("no decay", (2,), seed=3, rates=[0.3] * 3, weight_decay=0.0),
        descents.descent("tiny slopes", (3,), seed=8, rates=[0.3] * 3, size=1e-6, epsilon=1e-5),
        descents.descent(
            "a slope of zero", (2,), seed=4, rates=[0.3] * 3, zero=True, weight_decay=0.2
        ),
        descents.descent(
            "other β and ε",
            (2,),
            seed=5,
            rates=[0.2] * 4,
            beta1=0.5,
            beta2=0.8,
            epsilon=0.1,
            weight_decay=0.2,
        ),
        descents.descent(
            "a rate that changes", (2,), seed=6, rates=[0.5, 0.05, 1.5], weight_decay=0.3
        ),
        descents.descent(
            "float32 parameters", (3,), seed=7, rates=[0.2] * 3, dtype=np.float32, weight_decay=0.1
        ),
        descents.descent(
            "a walk that goes on from its third step", (2,), seed=9, rates=[0.2] * 2, state=THIRD
        ),
        descents.descent(
            "a walk that goes on from its 1,000th step",
            (2,),
            seed=10,
            rates=[0.2, 0.0, 0.2],
            state=LATE,
        ),
    ]


answers.edit(
    GIVEN,
    "its first step is ten times as long as lr, and a parameter with small gradients shrinks far "
    "more than one with large ones: one mistake is in a correction, one in the decay.",
)
answers.edit(
    {COUNT: COUPLED, DECAY: ""},
    "the decay is coupled: weight_decay · theta is added to the gradient, goes through m and v, "
    "and is divided by √v̂. That is Adam; in AdamW it goes to theta directly, lr · weight_decay "
    "· theta.",
)
answers.edit(
    {COUNT: COUPLED},
    "the decay is in there twice: in the gradient and in theta. It goes to theta only.",
)
answers.edit(
    {DECAY: ""}, "there is no decay, which is plain Adam: take lr · weight_decay · theta off."
)
answers.edit(
    {DECAYED: "theta - weight_decay * theta"},
    "the decay lacks the rate: take lr · weight_decay · theta off.",
)
answers.edit(
    {DECAYED: "theta - lr**2 * weight_decay * theta"},
    "the decay has the rate twice: take lr · weight_decay · theta off.",
)
answers.edit(
    {DECAYED: "theta + lr * weight_decay * theta"},
    "the parameters grow: the decay is subtracted.",
)
answers.edit(
    {DECAY: "", "return": "theta =", RETURNED: f"\n    return {DECAYED}{RETURNED}"},
    "the decay comes after Adam's step, and shrinks that too: let theta decay first.",
)
answers.edit(
    {DECAYED: "theta * weight_decay"},
    "theta is multiplied by weight_decay: that times the rate is the part that is taken off.",
)
answers.edit(
    {DECAYED: "theta - lr * weight_decay * np.sign(theta)"},
    "the decay takes the same amount off every parameter: it takes the same part, "
    "lr · weight_decay · theta.",
)
answers.edit(
    {DECAYED: "theta - lr * weight_decay"},
    "the decay lacks theta: take lr · weight_decay · theta off.",
)
answers.edit(
    {DECAYED: "theta - lr * 0.01 * theta"},
    "the decay is 0.01, whatever is given: use the argument, weight_decay.",
)
answers.edit(
    {DECAYED: "lr * weight_decay * theta"},
    "theta keeps only the part lr · weight_decay of itself: that is the part that is taken off.",
)
for edits, hint in FORMULA:
    answers.edit(edits, hint)

answers.edit(
    {RETURNED: ", (0, m, v)"},
    "t is 0 again in each step: return the t that you have counted up, (t, m, v).",
)
answers.edit(
    {RETURNED: ", None"},
    "each step begins anew: take t, m and v from state, and return the new ones.",
)
answers.edit(
    {RETURNED: ""}, "that returns theta alone: t, m and v must come back for the next step."
)
answers.edit(
    {DECAY: "", "lr * m_hat": "lr * (m_hat + weight_decay * theta)"},
    "the decay is divided by √v̂ too: it must stand outside of the fraction.",
)
answers.edit(
    {f"theta = {DECAYED}": "theta *= 1 - lr * weight_decay"},
    "*= changes the theta that the caller holds: let it decay into a new array.",
)

answers.variant({DECAYED: "(1 - lr * weight_decay) * theta"})
answers.variant(
    {
        "state=None, *, lr": "state, lr",
        "(0, 0.0, 0.0) if state is None else state": "state or (0, 0 * theta, 0 * theta)",
        MEAN: "m + (1 - beta1) * (gradient - m)",
        SQUARE: "v + (1 - beta2) * (gradient**2 - v)",
        DECAY: "",
        f"lr * m_hat / {DIVISOR}": f"lr * (m_hat / {DIVISOR} + weight_decay * theta)",
    }
)

EXERCISE = Exercise(
    task="Mend AdamW: Adam's step, from a θ that has decayed by η·δ·θ.",
    reference=adamw_step,
    cases=cases,
    run=descents.run,
    difference=descents.difference,
    demand=descents.hands_back(STATE, adamw_step),
    answers=answers,
)

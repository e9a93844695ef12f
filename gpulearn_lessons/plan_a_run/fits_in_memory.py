"""Whether a GPU of the first stage holds its part of a training."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.plan.by_hand import fits_in_memory

answers = Answers(fits_in_memory)

# parameters, activations, micro-batches, tensor, pipeline, data, stage; and what it takes
PLANS = (
    (1_000_000_000, 0.0, 1, 1, 1, 1, 0, 18e9),
    (8_000_000_000, 3e9, 4, 1, 1, 1, 0, 147e9),
    (50_000_000_000, 0.0, 1, 1, 1, 1, 0, 900e9),  # of which 80 GB do not hold the weights
    (1_000_000_000, 66e9, 1, 1, 1, 1, 0, 84e9),  # more than 80e9 bytes, less than 80·2³⁰
    (8_000_000_000, 3e9, 32, 4, 2, 1, 0, 24e9),
    (8_000_000_000, 2e9, 32, 1, 4, 1, 0, 44e9),
    (8_000_000_000, 2e9, 3, 1, 8, 1, 0, 24e9),  # fewer micro-batches than stages
    (8_000_000_000, 1e9, 8, 1, 1, 8, 0, 145e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 1, 61e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 2, 33e9),
    (8_000_000_000, 1e9, 8, 1, 1, 8, 3, 19e9),
    (16_000_000_000, 1e9, 8, 2, 4, 4, 1, 22e9),
    (1_001, 0.0, 1, 4, 1, 1, 0, 251 * 18.0),  # rounded up: 250.25 parameters are 251
    (1_001, 10.0, 5, 2, 5, 3, 3, 34 * 18.0 + 50.0),
)


def cases() -> list[Case]:
    """Each plan in a memory that holds it to the last byte, and in one that lacks one byte."""
    found = []
    for *plan, needed in PLANS:
        p, activations, micro, t, stages, d, s = plan
        kept = f"{micro} × {activations:.3g} bytes"
        layout = f"{p:,.0f} parameters as {t} × {stages} × {d}, stage {s}, {kept}"
        memories = {"just enough": needed, "one byte too little": needed - 1, "80 GB": 80e9}
        for said, memory in memories.items():
            args = (p, activations, micro, t, stages, d, s, memory)
            found.append(Case(f"{layout}, {said}", args))
    return found


@dataclass(frozen=True)
class Answered:
    """What an answer says.

    Attributes:
        fits: in the memory of the case.
        around: in smaller and larger ones, by which wrong answers are told apart.
    """

    fits: Any
    around: tuple[Any, ...]


def run(answer: Answer, case: Case) -> Answered | None:
    """Call an answer with the layout by name."""
    parameters, activations, micro, tensor, pipeline, data, stage, memory = case.args
    within = partial(
        partial(answer, parameters, activations, micro),
        tensor=tensor, pipeline=pipeline, data=data, stage=stage,
    )  # fmt: skip
    fits = within(memory=memory)
    if not isinstance(fits, bool | np.bool_):
        return None if fits is None else Answered(shown(fits), ())
    return Answered(bool(fits), tuple(bool(within(memory=memory * k / 18)) for k in range(1, 37)))


def difference(got: Answered | None, wanted: Answered) -> str | None:
    """A truth value, NumPy's too."""
    if got is None:
        return compare.NOTHING
    if not isinstance(got.fits, bool):
        return f"it returns {got.fits}, expected True or False"
    if got.fits == wanted.fits:
        return None
    if wanted.fits:
        return "it fits, and the answer is False"
    return "it does not fit, the answer is True"


def same(one: Answered, other: Answered) -> bool:
    """Whether two answers say the same of all memories."""
    return one == other


OWN = "-(-parameters // (tensor * pipeline))"
BYTES = "weights=2, gradients=4, state=12"
FLYING = "min(pipeline, micro_batches) * activations"

answers.edit(
    {OWN: "-(-parameters // (tensor * pipeline * data))"},
    "replicas do not divide the parameters: each has the whole model, except for what ZeRO cuts.",
)
answers.edit(
    {OWN: "parameters"},
    "a GPU has the parameters of its stage and of its tensor-parallel part: divide by both.",
)
answers.edit(
    {OWN: "-(-parameters // tensor)"},
    "the stages of a pipeline divide the layers among them: divide by the number of stages too.",
)
answers.edit(
    {OWN: "-(-parameters // pipeline)"},
    "tensor parallelism divides the matrices: divide by the number of its GPUs too.",
)
answers.edit(
    {BYTES: "weights=2, gradients=0, state=0"},
    "that is the weights alone: training keeps gradients and the optimiser's state too, 18 bytes "
    "for each parameter.",
)
answers.edit(
    {BYTES: "weights=2, gradients=0, state=12"},
    "gradients are left out: each parameter has 4 bytes of them.",
)
answers.edit(
    {BYTES: "weights=2, gradients=4, state=0"},
    "the optimiser's state is left out: each parameter has 12 bytes of it.",
)
answers.edit(
    {BYTES: "weights=4, gradients=4, state=12"},
    "a weight has 2 bytes here: its copy in float32 is among the 12 bytes of state.",
)
answers.edit(
    {BYTES: "weights=2, gradients=12, state=4"},
    "stage 1 cuts the optimiser's state, 12 bytes, and stage 2 the gradients too, 4 bytes: here "
    "it is the other way round.",
)
answers.edit(
    {BYTES: "weights=2, gradients=2, state=12"},
    "gradients have 4 bytes here, so that many of them can be added up.",
)
answers.edit(
    {FLYING: "activations"},
    "in 1F1B the first stage starts p micro-batches before the first comes back, and keeps the "
    "activations of each of them.",
)
answers.edit(
    {FLYING: "pipeline * activations"},
    "with fewer micro-batches than stages no more are on their way than there are.",
)
answers.edit(
    {FLYING: "max(pipeline, micro_batches) * activations"},
    "on their way are p micro-batches, or all of them where there are fewer: the smaller of the "
    "two numbers.",
)
answers.edit(
    {FLYING: "min(pipeline, micro_batches // data) * activations"},
    "`micro_batches` are those of one replica: the others have as many of their own, so do not "
    "divide by the number of replicas.",
)
answers.edit(
    {FLYING: "micro_batches * activations"},
    "that is GPipe, which keeps every micro-batch: in 1F1B backward begins after p of them.",
)
answers.edit(
    {" <= memory": " < memory"},
    "a memory that is full to the last byte still holds it.",
)
answers.edit(
    {FLYING: "min(pipeline, micro_batches) * activations / tensor"},
    "`activations` is already what one GPU keeps: do not divide it by the tensor-parallel GPUs.",
)
NOT_ONE_LESS = "the first stage starts p micro-batches before the first one comes back, not p − 1."
answers.edit({FLYING: "min(max(1, pipeline - 1), micro_batches) * activations"}, NOT_ONE_LESS)
answers.edit({FLYING: "min(pipeline - 1, micro_batches) * activations"}, NOT_ONE_LESS)
answers.edit(
    {FLYING: "0 * activations"},
    "activations are left out: what forward keeps for backward is in memory too.",
)
STAGES = (
    "the stage says what the replicas cut: stage 0 nothing, 1 the state, 2 the gradients too, 3 "
    "the weights too."
)
for wrong_stage in ("3", "3 if stage else 0", "min(3, stage + 1)", "min(3, stage and stage + 1)"):
    answers.edit(
        {"zero_memory([own], data, stage,": f"zero_memory([own], data, {wrong_stage},"}, STAGES
    )
answers.edit(
    {
        OWN: "parameters",
        "zero_memory([own], data, stage,": "zero_memory([own], data * tensor * pipeline, stage,",
    },
    "tensor and pipeline divide all 18 bytes, at every stage: ZeRO then cuts, among the replicas "
    "alone, what they have left.",
)
answers.edit(
    {"zero_memory([own], data, stage,": "zero_memory([own], data, 0,"},
    "what ZeRO's stage cuts among the replicas is still whole here.",
)
answers.edit(
    {" <= memory": " <= memory * 2**30 / 1e9"},
    "memory is in bytes, as it is given: a GPU of 80 GB has 80e9 here, not 80·2³⁰.",
)
answers.edit(
    {OWN: "parameters // (tensor * pipeline)"},
    "rounded down, some parameters are on no GPU: the largest part is rounded up.",
)
ZERO = "zero_memory([own], data, stage, weights=2, gradients=4, state=12)"
CUT = "each * own / (data if stage >= cut else 1) for each, cut in ((2, 3), (4, 2), (12, 1))"
UNROUNDED = (
    "a GPU has no part of a parameter: round up its number of parameters, and what ZeRO leaves of "
    "it besides."
)
answers.edit({OWN: "parameters / (tensor * pipeline)", ZERO: f"[{CUT}]"}, UNROUNDED)
answers.edit({ZERO: f"[{CUT}]"}, UNROUNDED)
answers.variant({OWN: "(parameters + tensor * pipeline - 1) // (tensor * pipeline)"})


@answers.right
def without_the_helper(
    parameters: Any, activations: Any, micro_batches: Any, *, tensor: Any, pipeline: Any,
    data: Any, stage: Any, memory: Any,
) -> Any:  # fmt: skip
    own = np.ceil(parameters / (tensor * pipeline))
    total = 0
    for number, each in ((3, 2), (2, 4), (1, 12)):
        total += each * (np.ceil(own / data) if stage >= number else own)
    if micro_batches < pipeline:
        return total + micro_batches * activations <= memory
    return total + pipeline * activations <= memory


EXERCISE = Exercise(
    task="Say whether a GPU of the first stage holds its part of a training.",
    reference=fits_in_memory,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(same,),
)

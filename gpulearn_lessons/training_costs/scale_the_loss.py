"""A step in float16 with loss scaling, given in the wrong order, to be mended from its symptom."""

from __future__ import annotations

import functools
from typing import Any

import torch

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.train.precision import scale_the_loss
from gpulearn_lessons.training.trial import Seen, apart, flat, number, same

UNSCALE = """\
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(scale)
"""
CLIP = "    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n"
SKIP = "    if not norm.isfinite():\n        return scale / 2\n"
STEP = "    optimizer.step()\n"
FIRST = "next(p.grad for p in model.parameters() if p.grad is not None)"
LATE = {UNSCALE: "", CLIP: CLIP + UNSCALE}

answers = Answers(scale_the_loss)
answers.give({UNSCALE: "", CLIP: CLIP + UNSCALE, SKIP + STEP: STEP + SKIP})


def cases() -> list[Case]:
    """Scales that fit and that overflow; short and long gradients; momentum; old gradients."""
    work: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("a scale of 1,024 and a limit that is not reached", (1024.0, 100.0, 1.0, 1, 0)),
        ("a scale of 1,024 and a long gradient", (1024.0, 0.05, 1.0, 1, 0)),
        ("three steps with momentum, clipped", (4096.0, 0.1, 1.0, 3, 0)),
        ("a scale of 2 to the 40", (2.0**40, 1.0, 1.0, 1, 0)),
        ("a scale that overflows, after a good step", (1024.0, 1.0, 1.0, 2, 2)),
        ("a good step, after a scale that overflows", (1024.0, 1.0, 1.0, 2, 1)),
        ("an overflow behind hidden units that are all dead", (2.0**40, 1.0, 1.0, 1, 0)),
        ("a parameter that holds an old gradient", (1024.0, 100.0, 1.0, 1, 0)),
        ("a scale of 1", (1.0, 0.1, 1.0, 2, 0)),
        (
            "a single layer, a single image and a scale of 2 to the 30",
            (2.0**30, 1.0, 1.0, 1, 0),
        ),
        ("an image that holds nan, and a scale of 1", (1.0, 1.0, float("nan"), 1, 0)),
        ("a scale of 2 to the 18, which just fits", (2.0**18, 0.1, 1.0, 1, 0)),
        ("an overflow in the last layer alone", (1024.0, 1.0, 1.0, 1, 0)),
        ("a first layer that is frozen", (1024.0, 0.05, 1.0, 1, 0)),
        ("a gradient hundreds of times as long as the limit", (16.0, 0.5, 300.0, 1, 0)),
        ("a limit of a millionth", (1024.0, 1e-6, 1.0, 2, 0)),
    )
    return [Case(label, plan) for label, plan in work]


def network(layers: int) -> torch.nn.Sequential:
    if layers == 1:  # its gradients overflow to inf, without a nan from inf − inf
        return torch.nn.Sequential(torch.nn.Linear(12, 4))
    return torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))


def run(answer: Answer, case: Case) -> Seen:
    """Take the steps, one of them with an overflowing scale where the case says so."""
    fits, max_norm, size, steps, overflows = case.args
    facts: dict[str, Any] = {}
    with apart(steps):
        alone = "single" in case.label
        model = network(1 if alone else 2)
        if "dead" in case.label:  # no gradient passes them, so none in front of them overflows
            torch.nn.init.constant_(model.get_parameter("0.bias"), -100.0)
        if "last" in case.label:  # whose inputs are so large that only its own gradient overflows
            torch.nn.init.constant_(model.get_parameter("0.bias"), 1000.0)
            torch.nn.init.uniform_(model.get_parameter("2.weight"), -1e-3, 1e-3)
        if "frozen" in case.label:
            model.get_submodule("0").requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        for p in model.parameters():
            p.grad = torch.randn_like(p) if "old" in case.label else None
        for step in range(1, steps + 1):
            scale = 2.0**40 if step == overflows else fits
            count = 1 if alone else 6
            images, labels = torch.rand(count, 12) * size, torch.randint(4, (count,))
            returned = answer(model, optimizer, images, labels, scale, max_norm)
            where = f"step {step}" if steps > 1 else "the step"
            facts[f"the parameters after {where}"] = flat(model.parameters())
            facts[f"the scale that it returns in {where}"] = number(returned)
        facts["the dtype of the parameters"] = str(next(model.parameters()).dtype)[6:]
    return Seen(facts)


# a right answer may compute the norm in another order, and divides by powers of two
difference = functools.partial(same, tolerance=2e-5)

LONG = (
    "what is left of a gradient that is clipped is max_norm / scale long, and the network hardly "
    "moves: it is the true gradient that is clipped to max_norm. Unscale first, then clip."
)
TAKEN = (
    "the step is taken though the gradient has overflowed, and every weight becomes nan: look at "
    "the norm before optimizer.step()."
)
BOTH = (
    "the scaled gradient is clipped, and divided by the scale afterwards; unscale first. And a "
    "step is taken though the gradient has overflowed: look at the norm before optimizer.step()."
)

answers.edit({UNSCALE: "", CLIP: CLIP + UNSCALE, SKIP + STEP: STEP + SKIP}, BOTH)
answers.edit(LATE, LONG)
answers.edit({SKIP + STEP: STEP + SKIP}, TAKEN)
answers.edit(
    {UNSCALE: ""},
    "a step that need not be clipped is far too long: divide every gradient by the scale, and clip "
    "only what is longer than max_norm then.",
)
answers.edit(
    {SKIP: ""},
    "nothing asks whether the gradient is finite: an overflow makes every weight nan, and the "
    "scale never falls.",
)
answers.edit(
    {"(loss * scale)": "loss"},
    "the loss is not multiplied by the scale, and its gradients are divided by it all the same.",
)
answers.edit(
    {"(loss * scale)": "loss", UNSCALE: ""},
    "no scale is used at all: small gradients underflow, and an overflow never shows.",
)
answers.edit(
    {CLIP: "    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()\n"},
    "nothing is clipped: the norm is computed, and the gradients stay as long as they are.",
)
answers.edit(
    {"not norm.isfinite()": "not norm <= 1000 * max_norm"},
    "a gradient that is far longer than max_norm is taken for one that has overflowed: clipping is "
    "there for long ones. Only one that is not finite has overflowed.",
)
answers.edit(
    {"not norm.isfinite()": "norm.isnan()"},
    "a norm that is inf is let through: an overflow gives inf or nan, so ask for isfinite().",
)
answers.edit(
    {"not norm.isfinite()": "norm.isinf()"},
    "a norm that is nan is let through: an overflow gives inf or nan, so ask for isfinite().",
)
answers.edit(
    {"return scale / 2": "return scale"},
    "after an overflow it returns the same scale, which overflows again: return half of it.",
)
answers.edit(
    {"return scale / 2": "return scale * 2"},
    "after an overflow it returns twice the scale, which overflows again: return half of it.",
)
answers.edit(
    {"return scale / 2": "return scale // 2"},
    "scale // 2 is rounded down: a scale of 1 becomes 0, and no gradient is left. Divide with /.",
)
answers.edit(
    {"norm.isfinite()": "norm * scale < 65504"},
    "a long gradient is taken for one that has overflowed: each of its numbers may be up to "
    "65,504 in float16, and together they may be longer than that. Ask for isfinite().",
)
answers.edit(
    {"not norm.isfinite()": "not norm < 100 * max_norm"},
    "the step is left out where the gradient is only long: that is what clipping is for. Ask for "
    "isfinite().",
)
answers.edit(
    {"    optimizer.zero_grad()\n": ""},
    "old gradients are still there, and the scaled ones are added to them: call "
    "optimizer.zero_grad() first.",
)
answers.edit(
    {"dtype=torch.float16": "dtype=torch.bfloat16"},
    "the passes are computed in bfloat16, which rounds to 8 bits and overflows nowhere; asked for "
    "is float16.",
)
answers.edit(
    {"with torch.autocast(images.device.type, dtype=torch.float16)": "if True"},
    "the passes are computed in float32: the forward pass belongs under torch.autocast.",
)
answers.edit(
    {
        "        return scale / 2\n": (
            "        scale = scale / 2\n        optimizer.zero_grad(set_to_none=False)\n"
        )
    },
    "after an overflow the gradient is set to zero and a step is taken: momentum still moves the "
    "weights. Leave the step out.",
)  # fmt: skip

answers.edit(
    {
        CLIP: f"    first = {FIRST}.norm()\n{CLIP}",
        "norm.isfinite()": "first.isfinite()",
    },
    "it looks at some of the gradients only, and an overflow may be in another: ask for the norm "
    "of all, or look at each.",
)
answers.edit(
    {"norm.isfinite()": f"{FIRST}.isfinite().all()"},
    "it looks at one gradient only, and an overflow may be in another: ask for the norm of all, or "
    "look at each.",
)
answers.edit(
    {UNSCALE: UNSCALE.replace("        if p.grad is not None:\n    ", "")},
    "a parameter that is frozen has no gradient, its .grad is None: pass it over.",
)
answers.edit(
    {"norm.isfinite()": "loss.isfinite()"},
    "the loss is finite where its scaled gradient is not: look at the gradient before the step.",
)
answers.edit(
    {
        "    optimizer.zero_grad()\n": (
            "    before = [p.detach().clone() for p in model.parameters()]\n"
            "    optimizer.zero_grad()\n"
        ),
        SKIP + STEP: (
            STEP + "    if not norm.isfinite():\n"
            "        for p, old in zip(model.parameters(), before):\n"
            "            p.data.copy_(old)\n        return scale / 2\n"
        ),
    },
    "after an overflow the weights are put back, and the optimiser keeps what it made of inf and "
    "nan, such as its velocity: leave the step out.",
)


@answers.right
def with_the_scaler(
    model: Any, optimizer: Any, images: Any, labels: Any, scale: float, max_norm: float
) -> Any:
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    model.zero_grad()
    with torch.amp.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return scaler.get_scale()


@answers.right
def by_hand(
    model: Any, optimizer: Any, images: Any, labels: Any, scale: float, max_norm: float
) -> Any:
    with torch.autocast("cpu", dtype=torch.float16):
        loss = torch.nn.CrossEntropyLoss()(model(images), labels) * scale
    parameters = [p for p in model.parameters() if p.requires_grad]
    found = [g / scale for g in torch.autograd.grad(loss, parameters)]
    if not all(g.isfinite().all() for g in found):
        return 0.5 * scale
    norm = sum((g**2).sum() for g in found) ** 0.5
    for p, g in zip(parameters, found, strict=True):
        p.grad = g * min(1.0, max_norm / float(norm))
    optimizer.step()
    return torch.tensor(scale)


EXERCISE = Exercise(
    task="Mend the step: backward, unscale, clip, step, and no step where the gradient overflows.",
    reference=scale_the_loss,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
)

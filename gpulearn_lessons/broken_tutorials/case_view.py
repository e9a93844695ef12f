"""A network that makes other rows of the images it is given, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials.mended_networks import case_view
from gpulearn_lessons.data_parallel.rank_exercise import alike
from gpulearn_lessons.training.trial import Outcome, apart, same

IMAGES = 25  # 25 · 256 numbers are 16 rows of 400
PARAMETERS = "with the given network's parameters, what its layers compute"


def cases() -> list[Case]:
    """The sizes of LeNet-5 and of MNIST, the smallest, sides that pooling does not halve."""
    sides = ((32, 10), (28, 10), (16, 3), (29, 10), (35, 5))
    return [Case(f"images of {side} × {side}, {n} classes", (side, n)) for side, n in sides]


def run(answer: Answer, case: Case) -> Outcome:
    """Build a network, and send images of its size and of another one through it."""
    side, classes = case.args
    other = 28 if side // 4 == 8 else 32
    with apart(side):
        model: Any = answer(side, classes)
        if not isinstance(model, nn.Module):
            return Outcome(
                {"what it returns": f"{shown(model)}, which is no network"}, (np.zeros(0),)
            )
        model.eval()
        images = torch.rand(IMAGES, 1, side, side, generator=torch.Generator().manual_seed(side))
        with torch.no_grad():
            scores = model(images)
            alone = torch.cat([model(image[None]) for image in images])
        count = sum(p.numel() for p in model.parameters())
        fresh: Any = answer(side, classes)  # has seen no image of the right size
        try:
            with torch.no_grad():
                rows = f"{len(fresh(torch.rand(IMAGES, 1, other, other)))} rows"
        except (RuntimeError, ValueError):
            rows = "an error"
        ours, theirs = scores_of_known(model, images, classes)
    apart_ = scores.shape == alone.shape and torch.allclose(scores, alone, atol=1e-5)
    differ = bool((scores.std(0) > 0).all()) if len(scores) > 1 else False
    facts: dict[str, Any] = {
        "what it returns": "a network",
        f"the shape of the scores of {IMAGES} images": str(tuple(scores.shape)),
        "a row of scores": "depends on its own image alone"
        if apart_ and differ
        else "does not depend on its own image alone",
        "the number of parameters": count,
        "the answer to images of another size": rows,
        PARAMETERS: "the same as there"
        if theirs.shape == ours.shape and np.allclose(theirs, ours, rtol=1e-4, atol=1e-5)
        else "something else than there",
    }
    return Outcome(facts, (theirs,))


def scores_of_known(model: nn.Module, images: Tensor, classes: int) -> tuple[Any, Any]:
    """The scores of the solution, and of a network that is given the solution's parameters.

    They are told apart by their numbers, so that a matrix may be a convolution in the other. The
    first linear layer weighs all that is left of an image alike: in which order that is laid flat
    is a network's own choice. Of a network with other parameters there are no scores.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(22)
        known = case_view(images.shape[-1], classes)
        first = next(layer.weight for layer in known if isinstance(layer, nn.Linear))
        first.copy_(first[:, :1].expand_as(first))
        by_size = {p.numel(): p for p in known.parameters()}
        parameters = list(model.parameters())
        if sorted(p.numel() for p in parameters) != sorted(by_size):
            return known(images).numpy(), np.zeros(0)
        for parameter in parameters:
            own = by_size[parameter.numel()]
            turned = own.ndim == 2 and parameter.shape == own.T.shape
            parameter.copy_(own.T if turned else own.reshape(parameter.shape))
        return known(images).numpy(), model(images).numpy()


def expected(case: Case) -> Outcome:
    """A row for each image, and no answer to images of another size."""
    side, classes = case.args
    left = ((side - 4) // 2 - 4) // 2
    dense = (16 * left * left + 1) * 120 + 121 * 84 + 85 * classes
    return Outcome(
        {
            "what it returns": "a network",
            f"the shape of the scores of {IMAGES} images": str((IMAGES, classes)),
            "a row of scores": "depends on its own image alone",
            "the number of parameters": 26 * 6 + 151 * 16 + dense,
            "the answer to images of another size": "an error",
            PARAMETERS: "the same as there",
        }
    )


def same_facts(one: Outcome, other: Outcome) -> bool:
    """Whether two networks were seen to do the same, with the same parameters too."""
    return alike(one, other, 1e-4)


EXERCISE = Exercise(
    task="Mend the network: a row of scores for each image, and no answer to another size.",
    reference=case_view,
    cases=cases,
    run=run,
    expect=expected,
    difference=same,
    kinships=(same_facts,),
    by_hand=False,
)

"""A network that makes other rows of the images it is given, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.broken_tutorials import trial
from gpulearn_lessons.broken_tutorials.mended_networks import case_view
from gpulearn_lessons.training.trial import Seen, apart, same

answers = Answers(case_view)

IMAGES = 25  # 25 · 256 numbers are 16 rows of 400
PARAMETERS = "with the given network's parameters, what its layers compute"


def cases() -> list[Case]:
    """The sizes of LeNet-5 and of MNIST, the smallest, sides that pooling does not halve."""
    sides = ((32, 10), (28, 10), (16, 3), (29, 10), (35, 5))
    return [Case(f"images of {side} × {side}, {n} classes", (side, n)) for side, n in sides]


def run(answer: Answer, case: Case) -> Seen:
    """Build a network, and send images of its size and of another one through it."""
    side, classes = case.args
    other = 28 if side // 4 == 8 else 32
    with apart(side):
        model: Any = answer(side, classes)
        if not isinstance(model, nn.Module):
            return Seen({"what it returns": f"{shown(model)}, which is no network"}, (np.zeros(0),))
        model.eval()
        images = torch.rand(IMAGES, 1, side, side, generator=torch.Generator().manual_seed(side))
        with torch.no_grad():
            scores = model(images)
            alone = torch.cat([model(one[None]) for one in images])
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
    return Seen(facts, (theirs,))


def scores_of_known(model: nn.Module, images: Tensor, classes: int) -> tuple[Any, Any]:
    """The scores of the solution, and of a network that is given the solution's parameters.

    They are told apart by their numbers, so that a matrix may be a convolution in the other. The
    first linear layer weighs all that is left of an image alike: in which order that is laid flat
    is a network's own choice. Of a network with other parameters there are no scores.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(22)
        known = case_view(images.shape[-1], classes)
        first = next(one.weight for one in known if isinstance(one, nn.Linear))
        first.copy_(first[:, :1].expand_as(first))
        by_size = {p.numel(): p for p in known.parameters()}
        given = list(model.parameters())
        if sorted(p.numel() for p in given) != sorted(by_size):
            return known(images).numpy(), np.zeros(0)
        for parameter in given:
            own = by_size[parameter.numel()]
            turned = own.ndim == 2 and parameter.shape == own.T.shape
            parameter.copy_(own.T if turned else own.reshape(parameter.shape))
        return known(images).numpy(), model(images).numpy()


def expected(case: Case) -> Seen:
    """A row for each image, and no answer to images of another size."""
    side, classes = case.args
    left = ((side - 4) // 2 - 4) // 2
    dense = (16 * left * left + 1) * 120 + 121 * 84 + 85 * classes
    return Seen(
        {
            "what it returns": "a network",
            f"the shape of the scores of {IMAGES} images": str((IMAGES, classes)),
            "a row of scores": "depends on its own image alone",
            "the number of parameters": 26 * 6 + 151 * 16 + dense,
            "the answer to images of another size": "an error",
            PARAMETERS: "the same as there",
        }
    )


LEFT = "    left = side // 4 - 3\n"
FLAT = "nn.Flatten()"
FIRST = "16 * left * left"
CONV = "nn.Conv2d(6, 16, 5)"
STAGE = f"{CONV}, nn.ReLU(), nn.MaxPool2d(2)"
WIDE = "*(nn.Linear(16 * left * left, 120), nn.ReLU())"
DENSE = "*(nn.Linear(120, 84), nn.ReLU())"
SCORES = "nn.Linear(84, classes)"
FIXED = {LEFT: "", FIRST: "400"}
answers.give({LEFT: "", FLAT: "Reshape(400)", FIRST: "400"})
answers.edit(
    {LEFT: "", FLAT: "Reshape(400)", FIRST: "400"},
    "rows of 400 numbers are cut from all images together. That is a row for each image if an "
    "image has 400 numbers there, and quietly something else if not: keep the first axis, and "
    "count what is left of an image.",
)
answers.edit(
    {FLAT: "Reshape(16 * left * left)"},
    "for images of the right size the rows are right; images of another size are still cut into "
    "rows that mix them, and nothing says so. Keep the first axis: nn.Flatten does.",
)
answers.edit(
    {**FIXED},
    "rows are images now, and images of any size but 32 are refused: the first linear layer has to "
    "be as wide as what is left of an image of this size.",
)
answers.edit(
    {LEFT: "    left = side // 4\n"},
    "a convolution of 5 × 5 without padding takes 4 pixels off each side: what is left is "
    "((side − 4) / 2 − 4) / 2.",
)
answers.edit(
    {LEFT: "    left = -(-side // 4) - 3\n"},
    "pooling rounds down: a last odd row or column is dropped.",
)
answers.edit(
    {FIRST: "left * left"},
    "what is left of an image has 16 planes of left × left numbers.",
)
answers.edit(
    {FLAT: "nn.AdaptiveAvgPool2d(5), nn.Flatten()", LEFT: "", FIRST: "400"},
    "an average over 5 × 5 fields makes 400 numbers of any image, and takes images of another size "
    "than it was built for: the first linear layer is to be as wide as what is left.",
)
answers.edit(
    {LEFT: "", "nn.Linear(16 * left * left, 120)": "nn.LazyLinear(120)"},
    "nn.LazyLinear takes the width of the images that come first, of whatever size they are. Give "
    "the layer the width that images of this side have.",
)
answers.edit(
    {FLAT: "nn.Flatten(0)"},
    "all images become one long row: keep the first axis.",
)
answers.edit(
    {
        "nn.Conv2d(1, 6, 5)": "nn.Conv2d(1, 6, 5, padding=2)",
        LEFT: "    left = (side // 2 - 4) // 2\n",
    },
    "padding changes the network: mend the rows, and leave the convolutions as they are.",
)
for edits, changed in (
    ({STAGE: f"{CONV}, nn.ReLU(), nn.AvgPool2d(2)"}, "a pool takes the mean, and took the largest"),
    ({STAGE: f"nn.ReLU(), {CONV}, nn.MaxPool2d(2)"}, "a ReLU stands before its layer, not after"),
    ({DENSE: "nn.Linear(120, 84)"}, "a ReLU is missing"),
    ({DENSE: "nn.Linear(120, 84), nn.Tanh()"}, "a ReLU has become another function"),
    ({SCORES: f"{SCORES}, nn.Softmax(1)"}, "the scores are made probabilities"),
):
    answers.edit(
        edits,
        f"the rows are right, but {changed}: that is another network. Mend the rows, and leave the "
        "other layers as they are.",
    )
answers.variant({LEFT: "    left = ((side - 4) // 2 - 4) // 2\n"})
answers.variant({STAGE: f"{CONV}, nn.MaxPool2d(2), nn.ReLU()"})
answers.variant({FLAT: "nn.Conv2d(16, 120, left), nn.Flatten()", WIDE: "nn.ReLU()"})


class Own(nn.Module):
    """The same as a class of its own."""

    def __init__(self, side: int, classes: int) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        with torch.no_grad():
            count = self.planes(torch.zeros(1, 1, side, side)).numel()
        self.dense = nn.ModuleList(
            [nn.Linear(count, 120), nn.Linear(120, 84), nn.Linear(84, classes)]
        )

    def planes(self, x: Any) -> Any:
        """The two stages of convolution."""
        pool = nn.functional.max_pool2d
        return pool(self.two(pool(self.one(x).relu(), 2)).relu(), 2)

    def forward(self, x: Any) -> Any:
        """Scores, a row for each image."""
        x = self.planes(x)
        x = x.view(x.size(0), -1)
        for layer in self.dense[:-1]:
            x = layer(x).relu()
        return self.dense[-1](x)


@answers.right
def as_a_class(side: int, classes: int = 10) -> nn.Module:
    return Own(side, classes)


def same_facts(one: Seen, other: Seen) -> bool:
    """Whether two networks were seen to do the same, with the same parameters too."""
    (mine,), (its,) = one.ways, other.ways
    return (
        trial.same_way(one, other)
        and np.array_equal(list(one.facts), list(other.facts))
        and mine.shape == its.shape
        and np.allclose(mine, its, rtol=1e-4, atol=1e-5)
    )


EXERCISE = Exercise(
    task="Mend the network: a row of scores for each image, and no answer to another size.",
    reference=case_view,
    cases=cases,
    answers=answers,
    run=run,
    expect=expected,
    difference=same,
    kinships=(same_facts,),
    by_hand=False,
)

"""Cross-entropy over a vocabulary that is split: a loss that looks right, to be mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn_lessons.model_parallel.tensor_parallel.layers import vocabulary_loss
from gpulearn_lessons.model_parallel.tensor_parallel.operations import copy_to_ranks
from gpulearn_lessons.model_parallel.trial import LayerPart, SplitLayer, layer_exercise


@dataclass(frozen=True)
class Split:
    """Scores of known numbers, (places, vocabulary), of which each rank has some columns.

    Attributes:
        ranks: N.
        places: n.
        vocabulary: v; where N does not divide it, the last columns are −∞.
        scale: of the scores; with large ones exp overflows unless the largest is subtracted.
    """

    ranks: int
    places: int
    vocabulary: int
    scale: float = 1.0

    def __call__(self, number: int) -> LayerPart:
        """A rank's columns, and the loss and gradient of all of them."""
        random = np.random.default_rng((self.ranks, self.places, self.vocabulary))
        scores = self.scale * random.normal(size=(self.places, self.vocabulary))
        targets = random.integers(self.vocabulary, size=self.places)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        largest = scores.max(-1)
        logs = np.log(np.exp(scores - largest[:, None]).sum(-1)) + largest
        loss = (logs - scores[np.arange(self.places), targets]).mean()
        shares[np.arange(self.places), targets] -= 1
        columns = -(-self.vocabulary // self.ranks)
        first = columns * number
        beyond = columns * self.ranks - self.vocabulary
        padded = np.pad(scores, ((0, 0), (0, beyond)), constant_values=-np.inf)
        gradient = np.pad(shares / self.places, ((0, 0), (0, beyond)))
        mine = slice(first, first + columns)
        return LayerPart(
            {"scores": padded[:, mine], "targets": targets, "first": first},
            np.asarray(loss),
            np.asarray(1.0),
            {"scores": gradient[:, mine]},
        )


def cases() -> list[Case]:
    """A vocabulary that N divides and one that it does not, small scores and large ones."""
    works = {
        "1 rank": Split(1, 3, 5),
        "2 ranks and 6 tokens": Split(2, 4, 6),
        "2 ranks and 7 tokens, so that rank 1 has one less": Split(2, 5, 7),
        "3 ranks and large scores": Split(3, 4, 9, 1000.0),
        "4 ranks with a token each": Split(4, 6, 4),
        "8 ranks and 22 tokens, so that rank 7 has one": Split(8, 5, 22, 3.0),
    }
    return [Case(label, (SplitLayer(work.ranks, work),)) for label, work in works.items()]


answers = Answers(vocabulary_loss)

LARGEST = "largest_over_ranks(scores.detach().amax(-1))"
TOTAL = "total = sum_of_ranks(shifted.exp().sum(-1))"
TARGET = "sum_of_ranks(own.where(mine, 0.0))"
LOCAL = {
    LARGEST: "scores.detach().amax(-1)",
    TOTAL: "total = shifted.exp().sum(-1)",
}
GIVEN = {TOTAL: "total = shifted.exp().sum(-1)", TARGET: "sum_of_ranks(own)"}
answers.give(GIVEN)

answers.edit(
    GIVEN,
    "there are two mistakes. Look over which tokens the total is, and what a rank adds for a "
    "target that it does not have.",
)
answers.edit(
    LOCAL,
    "that is a softmax over this rank's own tokens: largest and total have to be those of the "
    "whole vocabulary, each by an all-reduce.",
)
answers.edit(
    {TOTAL: "total = shifted.exp().sum(-1)"},
    "the largest score is that of all tokens, and the total is still over this rank's own: add it "
    "over the ranks.",
)
answers.edit(
    {LARGEST: "scores.detach().amax(-1)"},
    "each rank subtracts the largest of its own scores: then the addends of the total are scaled "
    "differently. Take the largest over all ranks.",
)
answers.edit(
    {TOTAL: "total = sum_over_ranks(shifted.exp().sum(-1).detach())"},
    "the loss is right, but the total is cut off from the scores, so that they get no gradient "
    "from it: sum_of_ranks adds and lets gradients through.",
    sum_over_ranks=sum_over_ranks,
)
answers.edit(
    {TOTAL: "total = copy_to_ranks(sum_of_ranks(shifted.exp().sum(-1)))"},
    "the loss is right, but the total's gradient is added over the ranks, and each of them has all "
    "of it: it becomes N times too large.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {TARGET: "own.where(mine, 0.0)"},
    "the target's score is known to the one rank that has that token; the others take 0: add it "
    "over the ranks.",
)
answers.edit(
    {TARGET: "sum_of_ranks(own)"},
    "every rank adds a score, also the ranks that do not have the target: let them add 0.",
)
answers.edit(
    {TOTAL: "total = sum_of_ranks(shifted.exp().sum(-1)) / world_size()"},
    "the total is averaged over the ranks: their tokens are different ones, so it is the sum.",
    world_size=world_size,
)
answers.edit(
    {TOTAL: "total = copy_to_ranks(shifted.exp().sum(-1))"},
    "copy_to_ranks changes nothing in the forward pass, so that the total is still over this "
    "rank's own tokens: sum_of_ranks adds.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {
        TOTAL: "total = shifted.exp().sum(-1)",
        "total.log()": "sum_of_ranks(total.log())",
    },
    "logarithms of the ranks' totals are added: the logarithm of a sum is another number. Add the "
    "totals first, then take the logarithm.",
)
answers.edit(
    {"shifted = scores -": "shifted = copy_to_ranks(scores) -"},
    "the loss is right, and gradients of different columns are added: each rank has scores of its "
    "own tokens, whose gradient belongs to no other rank's.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {"(total.log() - target).mean()": "(total.log() - target).sum()"},
    "that is the sum over all places: the loss is their mean.",
)
answers.edit(
    {"(total.log() - target).mean()": "sum_of_ranks((total.log() - target).mean())"},
    "the losses are added over the ranks, and each rank has the whole loss already: N times too "
    "large.",
)
answers.edit(
    {"(total.log() - target).mean()": "(total.log() - target).mean() / world_size()"},
    "the loss is divided by N: each rank has the whole loss already, the mean over all places.",
    world_size=world_size,
)
answers.edit(
    {"(total.log() - target).mean()": "sum_of_ranks((total.log() - target).mean()) / world_size()"},
    "the loss is right, since the mean of equal losses is the same, and its gradient is N times "
    "too small: return the loss as it is.",
    world_size=world_size,
)
answers.edit(
    {"column = targets - first": "column = targets"},
    "targets are numbers of the whole vocabulary, and this rank's first column is token `first`: "
    "subtract it.",
)
answers.edit(
    {"column = targets - first": "targets -= first\n    column = targets"},
    "the loss is right, and targets are changed: `-=` writes into the tensor that the caller still "
    "has. Make a new one, targets - first.",
)
answers.variant({TARGET: "sum_of_ranks(own * mine)"})


@answers.right
def with_logsumexp(scores: Any, targets: Any, first: int) -> Any:
    from gpulearn.parallel.torch_collectives import largest_over_ranks
    from gpulearn_lessons.model_parallel.tensor_parallel.operations import sum_of_ranks

    own = scores.logsumexp(-1)
    most = largest_over_ranks(own.detach())
    logs = sum_of_ranks((own - most).exp()).log() + most
    tokens = first + torch.arange(scores.shape[1])
    hit = targets[:, None] == tokens
    picked = torch.where(hit, scores, torch.zeros_like(scores)).sum(-1)
    return (logs - sum_of_ranks(picked)).mean()


@answers.right
def stacked(scores: Any, targets: Any, first: int) -> Any:
    from gpulearn_lessons.model_parallel.tensor_parallel.operations import sum_of_ranks

    largest = all_reduce(scores.detach().amax(-1), "max")
    shifted = scores - largest[:, None]
    own = shifted.new_zeros(len(targets))
    for place, token in enumerate((targets - first).tolist()):
        if 0 <= token < scores.shape[1]:
            own = (
                own
                + torch.nn.functional.one_hot(torch.tensor(place), len(targets))
                * (shifted[place, token])
            )
    total, target = sum_of_ranks(torch.stack([shifted.exp().sum(-1), own]))
    return (total.log() - target).sum() / len(targets)


EXERCISE = layer_exercise(
    task="Mend the loss: each rank has some tokens' scores, and it is the loss over all tokens.",
    reference=vocabulary_loss,
    cases=cases,
    answers=answers,
    real=Split(2, 4, 5),
)

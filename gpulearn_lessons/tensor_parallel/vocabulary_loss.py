"""Cross-entropy over a vocabulary that is split: a loss that looks right, to be mended."""

from dataclasses import dataclass

import numpy as np

from gpulearn.judge.exercise import Case
from gpulearn_lessons.tensor_parallel.layers import vocabulary_loss
from gpulearn_lessons.tensor_parallel.trial import LayerPart, SplitLayer, layer_exercise


@dataclass(frozen=True)
class SplitScores:
    """Scores of known numbers, (positions, vocabulary), of which each rank has some columns."""

    ranks: int  # N
    positions: int  # n
    vocabulary: int  # v; where N does not divide it, the last columns are −∞
    # of the scores; with large ones exp overflows unless the largest is subtracted
    scale: float = 1.0

    def __call__(self, number: int) -> LayerPart:
        """A rank's columns, and the loss and gradient of all of them."""
        random = np.random.default_rng((self.ranks, self.positions, self.vocabulary))
        scores = self.scale * random.normal(size=(self.positions, self.vocabulary))
        targets = random.integers(self.vocabulary, size=self.positions)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        largest = scores.max(-1)
        logs = np.log(np.exp(scores - largest[:, None]).sum(-1)) + largest
        loss = (logs - scores[np.arange(self.positions), targets]).mean()
        shares[np.arange(self.positions), targets] -= 1
        columns = -(-self.vocabulary // self.ranks)
        first = columns * number
        beyond = columns * self.ranks - self.vocabulary
        padded = np.pad(scores, ((0, 0), (0, beyond)), constant_values=-np.inf)
        gradient = np.pad(shares / self.positions, ((0, 0), (0, beyond)))
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
        "1 rank": SplitScores(1, 3, 5),
        "2 ranks and 6 tokens": SplitScores(2, 4, 6),
        "2 ranks and 7 tokens, so that rank 1 has one less": SplitScores(2, 5, 7),
        "3 ranks and large scores": SplitScores(3, 4, 9, 1000.0),
        "4 ranks and 9 tokens, so that rank 3 has none": SplitScores(4, 6, 9),
        "8 ranks and 22 tokens, so that rank 7 has one": SplitScores(8, 5, 22, 3.0),
    }
    return [Case(label, (SplitLayer(work.ranks, work),)) for label, work in works.items()]


EXERCISE = layer_exercise(
    task="Fix the loss: each rank has the scores of some tokens, and the loss is over all tokens.",
    reference=vocabulary_loss,
    cases=cases,
    real=SplitScores(2, 4, 5),
)

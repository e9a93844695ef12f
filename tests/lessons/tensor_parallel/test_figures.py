"""The explorer of tensor parallelism: its numbers are those of the formulas, for each rank."""

import pytest

from gpulearn_lessons.tensor_parallel.costs import part_parameters
from gpulearn_lessons.tensor_parallel.figures import RANKS, SHAPE, costs, draw, sentence


def test_each_number_of_ranks_has_its_sentence():
    for ranks in RANKS:
        state, kept, sent = costs(ranks)
        assert state == pytest.approx(16 * part_parameters(SHAPE, ranks) / 1e9)
        assert f"{kept:.1f} GB of activations" in sentence(ranks, ranks - 1)
        assert (sent == 0) == (ranks == 1)

    assert draw(2, 5)[1] == sentence(2, 1)  # of two ranks, the last one

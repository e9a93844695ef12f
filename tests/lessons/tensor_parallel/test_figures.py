"""The explorer of tensor parallelism: its numbers are those of the formulas, for each rank."""

from gpulearn_lessons.tensor_parallel.costs import part_parameters
from gpulearn_lessons.tensor_parallel.figures import RANKS, SHAPE, draw, sentence


def test_each_number_of_ranks_has_its_sentence():
    for ranks in RANKS:
        state = 16 * part_parameters(SHAPE, ranks) / 1e9
        assert f"{state:.1f} GB with gradients and Adam" in sentence(ranks, ranks - 1)
    assert "it sends 0.00 GB" in sentence(1, 0)

    assert draw(2, 5)[1] == sentence(2, 1)  # of two ranks, the last one

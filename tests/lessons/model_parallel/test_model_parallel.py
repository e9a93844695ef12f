"""The explorer of tensor parallelism: its numbers are those of the formulas, for each rank."""

import pytest

from gpulearn.errors import BadInput
from gpulearn_lessons.model_parallel import tensor_parallel_explorer, tensor_parallel_table
from gpulearn_lessons.model_parallel.tensor_figures import RANKS, SHAPE, costs, draw, sentence
from gpulearn_lessons.model_parallel.tensor_parallel.costs import part_parameters


def test_each_number_of_ranks_has_its_row_and_its_sentence():
    rows = tensor_parallel_table()
    for ranks in RANKS:
        state, kept, sent = costs(ranks)
        assert state == pytest.approx(16 * part_parameters(SHAPE, ranks) / 1e9)
        assert f"{state:.1f} GB" in str(rows)
        assert f"{kept:.1f} GB of activations" in sentence(ranks, ranks - 1)
        assert (sent == 0) == (ranks == 1)


def test_the_explorer_draws_anew_and_says_so():
    explorer = tensor_parallel_explorer()
    assert "Rank 1 of 4" in repr(explorer)
    explorer.controls["ranks"].value = 2
    assert "Rank 1 of 2" in explorer.picture.value
    explorer.controls["rank"].value = 5  # of two ranks, the last one
    assert "Rank 1 of 2" in explorer.picture.value
    assert not explorer.faults.outputs


def test_the_picture_has_its_sentence():
    picture, said = draw(8, 3)
    assert picture.alt == said
    with pytest.raises(BadInput, match="rank is 4: there are 4"):
        sentence(4, 4)

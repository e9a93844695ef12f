"""The player of sharded training: what it shows is what the formula says, stage by stage."""

import pytest

from gpulearn.errors import BadInput
from gpulearn_lessons.sharded_training import shard_player, zero_memory
from gpulearn_lessons.sharded_training.shards import BLOCKS, RANKS, draw, moments, sentence


@pytest.mark.parametrize("stage", range(4))
def test_between_backward_and_step_a_rank_holds_what_the_formula_says(stage):
    before_step = moments(stage)[-2]
    sizes = {"weights": 4, "gradients": 4, "state": 8}
    total = sum(zero_memory([1000] * BLOCKS, RANKS, stage, **sizes))
    assert before_step.bytes == pytest.approx(total / (1000 * BLOCKS))


def test_a_block_is_whole_only_while_it_is_used():
    for moment in moments(3):
        weights = moment.held["weights"]
        whole = [number for number, part in enumerate(weights, start=1) if part == 1]
        assert whole in ([], [moment.block])
        if moment.doing in ("forward", "backward"):
            assert whole == [moment.block]


@pytest.mark.parametrize("stage", range(4))
def test_moments_are_drawn_and_said(stage):
    for step in (0, 5, len(moments(stage)) - 1):
        picture, text = draw(stage, step)
        assert picture.alt == text == sentence(stage, step)


def test_other_stages_are_refused():
    with pytest.raises(BadInput, match="stage is 4"):
        shard_player(4)

"""Checkpoints of shards: read by any number of ranks, and the training goes on as it was."""

import warnings
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

import gpulearn as gl
from gpulearn_lessons.sharded_training import (
    ShardedOptimizer,
    ShardedParameters,
    load_sharded,
    reshard_checkpoint,
    save_sharded,
)

ADAMW = partial(torch.optim.AdamW, lr=1e-2)
STAGES = {"state": ShardedOptimizer, "parameters": ShardedParameters}


def go_on(stage, read, write, steps):
    """Losses of the whole batch; blocks of 35 and 24 numbers, which 4 ranks do not divide."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    trained, losses = STAGES[stage](model, ADAMW), []
    if read:
        load_sharded(trained, read)
    for step in steps:
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(step)).double()
        share = slice(gl.parallel.rank(), None, gl.parallel.world_size())
        loss = functional.cross_entropy(model(inputs[share]), torch.arange(8)[share] % 3)
        loss.backward()
        trained.step()
        losses.append(loss.item())
    if write:
        save_sharded(trained, write)
    return losses


def mean(ranks):
    return torch.tensor(ranks, dtype=torch.float64).mean(0)


@pytest.mark.parametrize("stage", STAGES)
def test_a_training_goes_on_on_any_number_of_ranks(stage, tmp_path):
    folder = str(tmp_path / "checkpoint")
    whole = mean(gl.launch(go_on, 4, stage, None, None, range(4), backend="gloo"))
    gl.launch(go_on, 4, stage, None, folder, range(2), backend="gloo")
    for ranks in (4, 2, 1):
        later = mean(gl.launch(go_on, ranks, stage, folder, None, range(2, 4), backend="gloo"))
        if ranks == 4:
            assert torch.equal(later, whole[2:])
        assert (later - whole[2:]).abs().max() < 1e-12


def warned(*args):
    warnings.simplefilter("error")
    return go_on(*args)


def test_a_checkpoint_takes_the_place_of_another(tmp_path):
    """With no warning, and with no file left of ranks that are not there any more."""
    folder = tmp_path / "checkpoint"
    gl.launch(go_on, 3, "state", None, str(folder), range(1), backend="gloo")
    whole = gl.launch(warned, 2, "state", None, str(folder), range(2), backend="gloo")
    assert {file.name for file in folder.iterdir()} == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    later = gl.launch(go_on, 2, "state", str(folder), None, range(2, 3), backend="gloo")
    assert later[0] != whole[0][:1]
    wanted = gl.launch(go_on, 2, "state", None, None, range(3), backend="gloo")
    assert [one[2:] for one in wanted] == later


def refuse(folder):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    trained = ShardedOptimizer(model, ADAMW)
    with pytest.raises(gl.errors.BadInput) as caught:
        load_sharded(trained, folder)
    return str(caught.value)


def test_the_checkpoint_of_another_model_is_refused(tmp_path):
    folder = str(tmp_path / "checkpoint")
    gl.launch(go_on, 2, "state", None, folder, range(1), backend="gloo")
    said = gl.launch(refuse, 2, folder, backend="gloo")[0]
    assert "is the checkpoint of another model" in said


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_shards_are_those_of_the_row_cut_anew(count, wrote, ranks):
    def cut(parts):
        length = -(-count // parts)
        return functional.pad(torch.arange(count), (0, parts * length - count)).view(parts, length)

    files = cut(wrote)
    found = [
        reshard_checkpoint(files.__getitem__, count, wrote, rank, ranks) for rank in range(ranks)
    ]
    assert torch.equal(torch.stack(found), cut(ranks))

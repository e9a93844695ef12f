"""Killed servers, and shards with their checkpoints, leave no process, file or thread behind."""

import tempfile
from functools import partial

import pytest
import torch

import gpulearn as gl
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.parameter_server.server.kills import Kill, run_with_kills
from gpulearn_lessons.sharded_training import ShardedParameters, load_sharded, save_sharded
from tests.support.left import nothing_left

SHAPE = DecoderShape(vocabulary=11, context=6, width=8, heads=2, layers=2)
ROWS = torch.arange(28).view(4, 7) % 11
ADAMW = partial(torch.optim.AdamW, lr=1e-2)


def train_in_shards(read, write):
    model = Decoder(SHAPE)
    sharded = ShardedParameters(model, ADAMW)
    if read:
        load_sharded(sharded, read)
    model.loss(ROWS[rank() :: world_size()]).backward()
    sharded.step()
    if write:
        save_sharded(sharded, write)


def with_files_in(folder, work, *args):
    """A rank's own temporary files; its server has chosen another folder long ago."""
    tempfile.tempdir = folder
    return work(*args)


def started(ranks, work, *args):
    gl.launch(with_files_in, ranks, tempfile.gettempdir(), work, *args, backend="gloo")


@pytest.fixture(autouse=True)
def clean(tmp_path_factory):
    with nothing_left(tmp_path_factory.mktemp("temporary")):
        yield


def test_a_server_whose_worker_primary_and_backup_are_killed():
    kills = [Kill("worker", "pushed"), Kill("primary", "forwarded"), Kill("backup", "any moment")]
    assert run_with_kills(kills, pushes=20).applied.sum() == 40


def test_sharded_training_with_checkpoints(tmp_path):
    folder = tmp_path / "checkpoint"
    started(2, train_in_shards, None, str(folder))
    started(1, train_in_shards, str(folder), None)
    names = {".metadata", "__0_0.distcp", "__1_0.distcp"}
    assert {file.name for file in folder.iterdir()} == names

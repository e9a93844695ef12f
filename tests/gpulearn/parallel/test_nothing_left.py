"""Servers, cut models, pipelines and shards leave no process, file, descriptor or thread behind."""

import os
import signal
import tempfile
from functools import partial

import pytest
import torch
from torch.nn import functional

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.model_parallel import run_schedule, schedule, split_stages
from gpulearn_lessons.model_parallel.tensor_parallel.decoder import TensorParallelDecoder
from gpulearn_lessons.parameter_server import train_with_server
from gpulearn_lessons.parameter_server.server.kill_plan import Kill
from gpulearn_lessons.parameter_server.server.kills import run_with_kills
from gpulearn_lessons.sharded_training import ShardedParameters, load_sharded, save_sharded
from tests.support.left import nothing_left

SHAPE = DecoderShape(vocabulary=11, context=6, width=8, heads=2, layers=2)
ROWS = torch.arange(28).view(4, 7) % 11
ADAMW = partial(torch.optim.AdamW, lr=1e-2)


def bowl(weights, worker, step):
    return weights


def train_by_tensors(dies=-1):
    decoder = TensorParallelDecoder(Decoder(SHAPE))
    optimizer = ADAMW(decoder.parameters())
    for step in range(3):
        loss = decoder.loss(ROWS)
        if step == 1 and rank() == dies:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()


def train_by_stages():
    plan, stages = schedule("1F1B", 2, 4), split_stages(Decoder(SHAPE), 2)
    parts = [(row[:, :-1], row[:, 1:]) for row in ROWS.split(1)]
    run_schedule(plan, stages, parts, lambda s, t: functional.cross_entropy(s[0], t[0]))


def train_in_shards(read, write):
    model = Decoder(SHAPE)
    sharded = ShardedParameters(model, ADAMW, prefetch=True)
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


def started(ranks, work, *args, **how):
    return gl.launch(with_files_in, ranks, tempfile.gettempdir(), work, *args, **how)


@pytest.fixture(autouse=True)
def clean(tmp_path_factory):
    with nothing_left(tmp_path_factory.mktemp("temporary")):
        yield


def test_a_server_whose_worker_primary_and_backup_are_killed():
    kills = [Kill("worker", "pushed"), Kill("primary", "forwarded"), Kill("backup", "any moment")]
    assert run_with_kills(kills, pushes=20).applied.sum() == 40


def test_a_server_and_its_workers_as_ranks():
    serve = partial(train_with_server, bowl, torch.ones(1), 20, 0.05)
    assert len(started(3, serve)[0].updates) == 20


def test_tensor_parallel_training():
    started(2, train_by_tensors)


def test_tensor_parallel_training_in_which_a_rank_is_killed():
    with pytest.raises(RankError, match="rank 1 of 2 was killed by SIGKILL"):
        started(2, train_by_tensors, 1)


def test_a_pipeline():
    started(2, train_by_stages)


def test_sharded_training_with_checkpoints(tmp_path):
    folder = tmp_path / "checkpoint"
    started(2, train_in_shards, None, str(folder), backend="gloo")
    started(1, train_in_shards, str(folder), None, backend="gloo")
    assert sorted(one.name for one in folder.iterdir()) == [
        ".metadata", "__0_0.distcp", "__1_0.distcp",
    ]  # fmt: skip

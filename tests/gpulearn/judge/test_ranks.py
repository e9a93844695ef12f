"""Answers on ranks: what is said of one that fails."""

import pytest
import torch
import torch.distributed as dist

import gpulearn as gl
from gpulearn.judge.ranks import RankFailure, on_simulated_ranks


def send_first(rank):
    gl.parallel.send(torch.ones(2), to=1 - rank)


def send_to_one_that_ends(rank):
    if rank == 0:
        gl.parallel.send(torch.ones(2), to=1)


def send_to_itself(rank):
    gl.parallel.send(torch.ones(2), to=rank)


def receive_from_nobody(rank):
    gl.parallel.recv(torch.ones(2), source=2)


def differ_in_size(rank):
    if rank == 0:
        gl.parallel.send(torch.ones(2), to=1)
    else:
        gl.parallel.recv(torch.ones(3), source=0)


def never_wait(rank):
    handle = gl.parallel.isend if rank == 0 else gl.parallel.irecv
    handle(torch.ones(2), 1 - rank)


def ask_torch(rank):
    dist.barrier()


def divide(rank):
    return 1 / (1 - rank)


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (send_first, "deadlock", "it is a deadlock: rank 0 sends to rank 1; rank 1 sends to rank"),
        (send_to_one_that_ends, "deadlock", "rank 0 sends to rank 1, which has ended"),
        (send_to_itself, "rank 0 sends to itself", "rank 0 raises BadInput in line 2 of your func"),
        (receive_from_nobody, "no such rank", "source is 2: there are 2 ranks, 0 to 1"),
        (differ_in_size, "misfit", "sends 2 float32, and rank 1 receives 3 float32"),
        (never_wait, "never waits", "it ended before wait() was called where it sends 8 bytes"),
        (ask_torch, "torch.distributed", "simulated ranks speak through gl.parallel.rank"),
        (divide, "ZeroDivisionError", "rank 1 raises ZeroDivisionError in line 2 of your function"),
    ],
)
def test_a_failure_has_its_kind_and_a_sentence(answer, kind, sentence):
    def act(answer, work):
        return answer(gl.parallel.rank())

    failure = on_simulated_ranks(act, 2, answer, None)
    assert isinstance(failure, RankFailure)
    assert failure.kind == kind
    assert sentence in failure.sentence
    assert bool(failure.waits) == (kind == "deadlock")

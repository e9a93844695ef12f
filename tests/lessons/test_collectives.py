"""The exercises of notebook 15, with answers written by other hands than the catalogue's."""

import multiprocessing
import os

import numpy as np
import pytest
import torch
import torch.distributed as dist

import gpulearn as gl
from gpulearn.judge import ranks
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.communicator import rank, recv, send, sendrecv, world_size


def neighbors():
    me, count = rank(), world_size()
    return me, count, (me + 1) % count, (me - 1) % count


def ring(tensor):
    me, count, right, left = neighbors()
    parts = torch.tensor_split(tensor, count)
    for k in range(1, 2 * count - 1):
        there, here = parts[(me - k) % count], parts[(me - k - 1) % count]
        incoming = sendrecv(there, right, here.clone(), left)
        if k < count:
            here.add_(incoming)
        else:
            here[...] = incoming


def star(tensor):
    me, count, *_ = neighbors()
    if me:
        send(tensor, 0)
        recv(tensor, 0)
        return tensor
    arrived = [recv(tensor.clone(), r) for r in reversed(range(1, count))]
    tensor.copy_(torch.stack([tensor, *arrived]).sum(0))
    for r in range(1, count):
        send(tensor, r)
    return tensor


def ring_once_round(tensor):
    me, count, right, left = neighbors()
    parts = tensor.tensor_split(count)
    for k in range(1, count):
        parts[(me - k - 1) % count].add_(
            sendrecv(parts[(me - k) % count], right, parts[(me - k - 1) % count].clone(), left)
        )


def ring_that_gathers_sums(tensor):
    tensor.copy_(torch.cat(list(gl.parallel.all_gather(gl.parallel.reduce_scatter(tensor)))))


def doubles_whole_tensors(tensor):
    for bit in (1, 2):
        if (other := rank() ^ bit) < world_size():
            tensor += sendrecv(tensor.clone(), other, tensor.clone(), other)


def star_by_ring(tensor):
    ring(tensor)


def barrier_of_one(tensor):
    if rank() > 0:
        gl.parallel.barrier()


def runs_on(tensor):
    while world_size() > 1:
        pass


def stuck_for_real(tensor):
    ring(tensor)
    if dist.is_initialized():
        recv(tensor.clone(), (rank() + 1) % world_size())


def dies_for_real(tensor):
    ring(tensor)
    if dist.is_initialized() and rank() == 1:
        os._exit(3)


def fit_by_ratio(sizes, seconds):
    return 0, np.mean(np.array(seconds) / np.maximum(sizes, 1))


def tree_of_the_library(tensor):
    gl.parallel.tree_all_reduce(tensor)  # which calls others, and they are no part of the answer


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("ring_all_reduce", ring_once_round, "on rank 0, 4 of 8 numbers are wrong, first"),
        ("all_reduce_via_root", tree_of_the_library, "calls the library's tree_all_reduce: write"),
        ("ring_all_reduce", doubles_whole_tensors, "(the numbers of rank 2 are missing)."),
        ("ring_all_reduce", ring_that_gathers_sums, "library's all_gather and reduce_scatter"),
        ("ring_all_reduce", star, "rank 0 sends to ranks 1, 2: in a ring each sends to one n"),
        ("all_reduce_via_root", star_by_ring, "4 messages are sent, and 2(N−1) = 2 are enough"),
        (
            "all_reduce_via_root",
            barrier_of_one,
            "for 2 ranks and 4 numbers, it is a deadlock: rank 1 waits for rank 0, which has ended",
        ),
        ("fit_alpha_beta", fit_by_ratio, "two exact times, α is 0, expected 2e-05 s"),
        ("fit_alpha_beta", lambda sizes, seconds: 1.0, "expected two numbers, α and β"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert said in diagnosis
    assert "\n" not in diagnosis


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (stuck_for_real, "on 2 real ones it is a deadlock: rank "),
        (dies_for_real, "on 2 real ones rank 1 of 2 ended with exit code 3 before its function"),
    ],
)
def test_an_answer_must_be_right_on_real_ranks_too(answer, said, monkeypatch):
    monkeypatch.setattr(ranks, "PATIENT_SECONDS", 1.0)  # these are stuck for good
    diagnosis = diagnose(find("ring_all_reduce"), answer)
    assert said in diagnosis
    assert diagnosis.startswith("right on simulated ranks, but ")
    assert not multiprocessing.active_children()


def test_a_rank_that_runs_on_is_told_long_before_the_check_would_end(monkeypatch):
    monkeypatch.setattr(ranks, "QUIET_SECONDS", 1.0)
    assert diagnose(find("all_reduce_via_root"), runs_on, seconds=120) == (
        "for 2 ranks and 4 numbers, rank 0 of 2 ran for 1 seconds without speaking to another "
        "rank: a loop never stops, or runs far too often."
    )


def test_an_exception_is_told_with_its_rank_and_line():
    def answer(tensor):
        if rank() == 1:
            return tensor.tensor_split(world_size())[3]
        return ring(tensor)

    assert diagnose(find("ring_all_reduce"), answer) == (
        "for 2 ranks and 8 numbers, rank 1 raises IndexError in line 3 of your function: tuple "
        "index out of range."
    )

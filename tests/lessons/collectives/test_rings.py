"""The ring player: its steps are those of the library's ring all-reduce."""

import pytest
import torch

import gpulearn as gl
from gpulearn.parallel import allreduce as module
from gpulearn_lessons.collectives import ring_player
from gpulearn_lessons.collectives.rings import MAX_RANKS, draw, ring_steps, sentence


def traced(ranks, monkeypatch):
    """What the ranks of a real ring held before each exchange and at the end: bits of ranks."""
    before = {rank: [] for rank in range(ranks)}
    sent = {rank: [] for rank in range(ranks)}
    tensors = {}
    sendrecv = module.sendrecv

    def watched(outgoing, to, incoming, source):
        rank = gl.parallel.rank()
        before[rank].append(tensors[rank].tolist())
        sent[rank].append(outgoing.storage_offset())  # chunks have one element each
        return sendrecv(outgoing, to, incoming, source)

    monkeypatch.setattr(module, "sendrecv", watched)

    def run():
        mine = torch.full((ranks,), 2 ** gl.parallel.rank())
        tensors[gl.parallel.rank()] = mine
        module.ring_all_reduce(mine)

    # the lists above are to be shared: the function may not travel as a copy
    module.watched_run = run
    try:
        gl.simulate(_call_watched, ranks)
    finally:
        del module.watched_run
    held = {r: [*before[r], tensors[r].tolist()] for r in range(ranks)}
    return held, sent


def _call_watched():
    module.watched_run()


def bits(value):
    return frozenset(rank for rank in range(MAX_RANKS) if value >> rank & 1)


@pytest.mark.parametrize("ranks", range(2, MAX_RANKS + 1))
def test_the_steps_are_those_of_the_library(ranks, monkeypatch):
    held, sent = traced(ranks, monkeypatch)
    every = ring_steps(ranks)
    assert len(every) == 2 * (ranks - 1) + 1
    for rank in range(ranks):
        assert [[bits(v) for v in row] for row in held[rank]] == [s.held[rank] for s in every]
        assert sent[rank] == [step.sent[rank] for step in every[1:]]


@pytest.mark.parametrize("ranks", [2, MAX_RANKS])
def test_steps_are_drawn_and_said(ranks):
    for step in (0, ranks - 1, 2 * ranks - 2):
        picture, text = draw(ranks, step)
        assert picture.alt == text == sentence(ranks, step)


def test_other_rings_are_refused():
    with pytest.raises(gl.errors.BadInput, match="ranks is 6: the picture has room for 2 to 5"):
        ring_player(6)

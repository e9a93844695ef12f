"""The pipeline's exercises of notebook 19, with answers written by another hand."""

import functools

import pytest
import torch

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.communicator import rank
from gpulearn_lessons.pipeline_parallel.pipeline_schedule import listed


def with_queues(rank, ranks, micro_batches):
    waiting, order = [], []
    for micro in range(micro_batches):
        order.append(("F", micro))
        waiting.append(micro)
        if len(waiting) == ranks - rank:
            order.append(("B", waiting.pop(0)))
    return order + [("B", micro) for micro in waiting]


def as_a_generator(rank, ranks, micro_batches):
    yield from with_queues(rank, ranks, micro_batches)


def in_words(rank, ranks, micro_batches):
    return [f"{kind}{micro}" for kind, micro in with_queues(rank, ranks, micro_batches)]


def with_stages(rank, ranks, micro_batches):
    return [(*pair, rank) for pair in with_queues(rank, ranks, micro_batches)]


def two_at_a_time(rank, ranks, micro_batches):
    order = []
    for first in range(0, micro_batches, 2):
        pair = range(first, min(first + 2, micro_batches))
        order += [("F", micro) for micro in pair] + [("B", micro) for micro in pair]
    return order


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (as_a_generator, "end it with return, without yield"),
        (in_words, "'F0' is in its list: expected pairs such as ('F', 0)"),
        (with_stages, "('F', 0, 0) is in its list: expected pairs"),
        (two_at_a_time, "where"),
        (lambda rank, ranks, micro_batches: [], "no rank does anything"),
        (lambda rank, ranks, micro_batches: None, "it returns nothing"),
    ],
)
def test_another_order_is_told_what_it_does(answer, said):
    assert said in diagnose(find("pipeline_schedule"), answer)


def test_queues_are_right_too():
    assert diagnose(find("pipeline_schedule"), with_queues) is None
    assert listed((["F", 0], ("B", 0))) == [("F", 0), ("B", 0)]


def sends_facing(stage, batches, lr=0.1):
    from gpulearn.parallel.communicator import send

    send(torch.ones(1), 1 - rank())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (sends_facing, "it is a deadlock: rank 0 sends to rank 1; rank 1 sends to rank 0"),
        (find("mend_the_pipeline").answers.given, "there are two mistakes"),
    ],
)
def test_a_mended_pipeline_is_told_what_it_does(answer, said):
    assert said in diagnose(find("mend_the_pipeline"), answer)


def test_the_bubble_by_another_formula():
    exercise = find("bubble_fraction")
    right = functools.wraps(exercise.reference)(lambda p, m, v=1: 1 - 1 / (1 + (p - 1) / (v * m)))
    assert diagnose(exercise, right) is None

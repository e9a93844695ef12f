"""Planted hangs: the rank that is late is named, and the collective to which it did not come."""

import os
import random
import time

import pytest
import torch
import torch.distributed as dist

from gpulearn.errors import RankError
from gpulearn.parallel.launch.flight_recorder import late
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.launch.messages import Call, TraceFrame

HANGS = int(os.environ.get("GPULEARN_HANGS", "3"))  # 50 take minutes
WAYS = ("sleeps", "runs on", "leaves", "goes on without")


def work(rank, ways, place):
    """Six collectives, called from lines of their own; one rank hangs at one of them."""

    def here(number):
        if (dist.get_rank(), number) != (rank, place):
            return True
        if ways == "sleeps":
            time.sleep(600)
        while ways == "runs on":
            pass
        if ways == "leaves":
            raise StopIteration
        return False

    row = torch.ones(4)
    rows = [torch.ones(4) for _ in range(dist.get_world_size())]
    try:
        if here(1):
            dist.all_reduce(row)
        if here(2):
            dist.all_reduce(row)
        if here(3):
            dist.all_reduce(row)
        if here(4):
            dist.all_reduce(row)
        if ways != "goes on without":  # another collective would be told as another call
            if here(5):
                dist.broadcast(row, 0)
            if here(6):
                dist.all_gather(rows, row)
    except StopIteration:
        return


def test_planted_hangs_are_found():
    draw = random.Random(3)
    for number in range(HANGS):
        ways, ranks = WAYS[number % len(WAYS)], draw.choice([2, 4])
        rank, place = draw.randrange(ranks), draw.randint(1, 4 if ways == WAYS[3] else 6)
        with pytest.raises(RankError) as raised:
            launch(work, ranks, rank, ways, place, timeout=3.0, backend="gloo")
        found = raised.value.late
        assert (found.rank, found.number) == (rank, place), (ways, str(raised.value))
        assert found.call.name == {5: "broadcast", 6: "all_gather"}.get(place, "all_reduce")
        assert f"rank {rank} did not reach collective {place}" in str(raised.value)


def called(*lines, name="all_reduce", first=1):
    """What a rank has noted that called from these lines, after the launcher's own call."""
    frames = [TraceFrame("cell", line, "train") for line in (0, *lines)]
    return {("0", n): Call(name, "2 float32", (f,)) for n, f in enumerate(frames, start=first)}


FOUR = called(1, 2, 3, 4)
CUT = {place: call for place, call in called(*range(1, 50)).items() if place[1] > 30}


@pytest.mark.parametrize(
    ("ranks", "rank", "number", "waiting"),
    [
        ([called(), FOUR, FOUR], 0, 1, (1, 2)),
        ([called(1), FOUR, FOUR], 0, 2, (1, 2)),
        ([called(1, 2, 3), FOUR, FOUR], 0, 4, (1, 2)),
        ([called(2, 3, 4), FOUR, FOUR], 0, 1, (1, 2)),
        ([called(1, 3, 4), FOUR, FOUR], 0, 2, (1, 2)),
        ([called(1, 4), FOUR, FOUR], 0, 2, (1, 2)),
        ([called(7, 7, 7), called(7, 7), called(7, 7, 7)], 1, 3, (0, 2)),  # in a loop the last call
        ([{}, called(1), called(1, 2)], 1, 2, (2,)),  # nothing is known of rank 0
        ([called(*range(1, 45)), CUT], 0, 45, (1,)),  # a long record has lost its beginning
    ],
)
def test_the_call_that_is_late_is_found_by_its_line(ranks, rank, number, waiting):
    found = late(ranks)
    assert (found.rank, found.number, found.waiting) == (rank, number, waiting)


def test_nobody_is_late_where_all_have_called_as_much_or_nothing_is_known():
    for ranks in ([called(1, 2)] * 2, [called(1, 5), called(1, 2)], [{}, called(1, 2)], [{}, {}]):
        assert late(ranks) is None


def fails_and_others_wait():
    if dist.get_rank() == 1:
        raise ValueError("broken")
    dist.barrier()


def test_a_rank_that_fails_is_the_cause_and_not_late():
    with pytest.raises(RankError, match="broken") as raised:
        launch(fails_and_others_wait, 2, backend="gloo")
    assert raised.value.late is None

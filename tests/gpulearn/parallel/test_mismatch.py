"""Ranks whose tensors do not fit are told so in one sentence, and never get wrong numbers."""

import ctypes

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import gpulearn as gl
from gpulearn.parallel import allreduce as sums
from gpulearn.parallel import collectives
from gpulearn.parallel.launch.failures import error_of
from gpulearn.parallel.launch.flight_recorder import differing
from gpulearn.parallel.launch.launch import launch
from gpulearn.parallel.launch.messages import Call, Failure, Result, TraceFrame


def told(fn, count, *args):
    """What the error of real ranks says."""
    with pytest.raises(gl.errors.RankError) as caught:
        launch(fn, count, *args, timeout=2)
    return str(caught.value)


def pass_on(sent, wanted):
    """Rank 0 sends, and rank 1 receives."""
    if gl.parallel.rank() == 0:
        gl.parallel.send(sent, to=1)
        return None
    return gl.parallel.recv(wanted, source=0)


@pytest.mark.parametrize(
    ("sent", "wanted", "kinds"),
    [
        (torch.ones(8), torch.ones(4), "8 float32, and rank 1 receives 4 float32"),
        (torch.ones(0), torch.ones(8), "0 float32, and rank 1 receives 8 float32"),
        (torch.ones(2), torch.ones(2).int(), "2 float32, and rank 1 receives 2 int32"),
    ],
)
def test_a_message_that_does_not_fit_is_named_on_both_sides(sent, wanted, kinds, capfd):
    said = told(pass_on, 2, sent, wanted)
    sentence = f"BadInput: rank 0 sends {kinds}: both sides must name as many of one dtype."
    assert sentence in said.splitlines()[0]
    assert said.count("then found the same in test_mismatch.py, line") == 1
    assert capfd.readouterr().err == ""
    with pytest.raises(gl.errors.RankError, match="rank 1 of 2 raised") as caught:
        launch(pass_on, 2, sent, wanted, backend="simulated")
    assert sentence in str(caught.value)


def test_a_message_of_another_shape_with_as_many_elements_fits():
    got = launch(pass_on, 2, torch.arange(6.0), torch.empty(2, 3), timeout=20)
    assert got[1].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_messages_keep_their_order_and_their_tags_whatever_their_sizes():
    def many():
        other, me = 1 - gl.parallel.rank(), gl.parallel.rank()
        out = [torch.full((n % 3,), float(n + 100 * me)) for n in range(20)]
        arriving = [
            gl.parallel.irecv(torch.empty(n % 3), other, tag=n % 2 << 40) for n in range(20)
        ]
        leaving = [gl.parallel.isend(one, other, tag=n % 2 << 40) for n, one in enumerate(out)]
        found = [one.wait().tolist() for one in reversed(arriving)][::-1]
        for one in leaving:
            one.wait()
        return found

    want = [[[float(n + 100 * one)] * (n % 3) for n in range(20)] for one in (1, 0)]
    assert launch(many, 2, timeout=20) == want


def test_of_two_messages_that_are_mixed_up_none_is_delivered():
    def mixed():
        sizes = (2, 3) if gl.parallel.rank() == 0 else (3, 2)
        begin = gl.parallel.isend if gl.parallel.rank() == 0 else gl.parallel.irecv
        for one in [begin(torch.zeros(size), 1 - gl.parallel.rank()) for size in sizes]:
            one.wait()

    assert "rank 0 sends 2 float32, and rank 1 receives 3 float32" in told(mixed, 2)


OURS = [
    collectives.broadcast,
    collectives.reduce,
    collectives.all_gather,
    collectives.reduce_scatter,
    collectives.all_to_all,
    *sums.ALGORITHMS.values(),
]


@pytest.mark.parametrize(
    ("collective", "backend"),
    [*((one, "simulated") for one in OURS), (collectives.reduce_scatter, "gloo")],
)
def test_our_collectives_name_ranks_that_do_not_fit(collective, backend):
    def work():
        return collective(torch.ones(4 if gl.parallel.rank() == 0 else 2, 3)).tolist()

    with pytest.raises(gl.errors.RankError, match=": both sides must name as many of one dtype"):
        launch(work, 3, backend=backend, timeout=2)


def on_rank_0(value):
    return value if dist.get_rank() == 0 else None


@pytest.mark.parametrize(
    ("call", "other"),
    [
        # without the check: one waits for a rank that has ended
        (dist.all_reduce, torch.ones(3)),
        (dist.all_reduce, torch.ones(2).int()),  # wrong numbers
        (dist.all_reduce, torch.ones(999)),  # gloo ends a process
        (lambda mine: dist.broadcast(mine, 0), torch.ones(3)),  # old numbers stay
        (lambda mine: dist.reduce(mine, 0), torch.ones(3)),
        (lambda mine: dist.all_gather([mine.clone(), mine.clone()], mine), torch.ones(3)),
        (lambda mine: dist.gather(mine, on_rank_0([torch.zeros(2)] * 2)), torch.ones(1)),
        (lambda mine: dist.scatter(mine, on_rank_0([torch.ones(2)] * 2)), torch.ones(3)),
    ],
)
def test_the_librarys_collectives_name_ranks_that_do_not_fit(call, other, capfd):
    def work():
        dist.all_reduce(torch.ones(5))
        call(torch.ones(2) if dist.get_rank() == 0 else other)

    said = told(work, 2)
    assert ": every rank must give as many numbers of one dtype." in said.splitlines()[0]
    assert "in work: call(torch.ones(2)" in said
    assert "gloo" not in said + capfd.readouterr().err


def test_a_gradient_of_another_model_is_named():
    def average():
        model = nn.Linear(2 + gl.parallel.rank(), 1)
        model(torch.ones(1, 2 + gl.parallel.rank())).sum().backward()
        gl.parallel.average_gradients(model)

    said = told(average, 2)
    assert "rank 1 of 2 calls all_reduce with 3 float32 where rank 0 calls" in said
    assert "in average: gl.parallel.average_gradients(model)" in said


def test_other_collectives_are_told_without_debug():
    def mixes():
        one = torch.ones(2)
        dist.all_reduce(one) if dist.get_rank() else dist.broadcast(one, 0)

    said = told(mixes, 2)
    assert "calls all_reduce with 2 float32 where rank 0 calls broadcast with 2 float32" in said
    assert "all ranks must call the same collectives in the same order." in said


def test_of_three_ranks_the_odd_one_is_named():
    two, one = Call("reduce", "2 int64", ()), Call("reduce", "1 int64", ())
    same = {("0", 1): Call("barrier", "", ())}
    assert differing([same, same, {}]) is None
    assert differing([{("0", 2): call} | same for call in (one, two, two)]) == (0, one, 1, two)
    assert differing([{("0", 2): call} | same for call in (two, two, one)]) == (2, one, 0, two)


def test_what_may_differ_between_ranks_is_no_mismatch():
    def everything():
        me = dist.get_rank()
        objects = [None, None] if me == 0 else None
        dist.gather_object("x" * 10 * me, objects)
        dist.all_gather_object([None, None], [me] * 9 * me)
        dist.broadcast_object_list(["abc" * 50] if me else [None], 1)
        dist.scatter_object_list([None], [1, "two" * 99] if me == 0 else None)
        dist.all_reduce(torch.ones(6) if me else torch.ones(2, 3))
        given = [1, 2] if me == 0 else [3, 4]
        got = [1, 3] if me == 0 else [2, 4]
        dist.all_to_all_single(torch.empty(sum(got)), torch.ones(sum(given)), got, given)
        dist.monitored_barrier()
        group = dist.new_group([0])
        if me == 0:
            dist.all_reduce(torch.ones(7), group=group)
            dist.send(torch.ones(3), 1)
        else:
            dist.recv(torch.ones(3), 0)
        model = DistributedDataParallel(nn.Linear(2, 2))
        with Join([model]):
            for _ in range(1 + me):
                model(torch.ones(1, 2)).sum().backward()
        mine = torch.ones(2)
        dist.all_reduce(mine)
        return mine.tolist()

    assert launch(everything, 2, timeout=20) == [[2, 2]] * 2


def test_a_rank_that_a_library_ends_is_told_with_its_line():
    def crash():
        if gl.parallel.rank() == 1:
            ctypes.string_at(0)
        gl.parallel.barrier()

    said = told(crash, 2)
    assert said.startswith("rank 1 of 2 was killed by SIGSEGV.")
    assert "in crash: ctypes.string_at(0)" in said


def test_a_rank_that_ends_without_its_line_is_told_with_another_ranks():
    frame = TraceFrame(__file__, told.__code__.co_firstlineno, "work")
    calls = {("0", n): Call("scatter", f"{n} float32", (frame,)) for n in (1, 2)}
    error = error_of([Result(b"", calls), Failure("", "was killed by SIGABRT", ())])
    assert str(error).splitlines()[:2] == [
        "rank 1 of 2 was killed by SIGABRT.",
        "rank 0 last called scatter with 2 float32:",
    ]
    assert "in work: def told(fn, count, *args):" in str(error)


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
@pytest.mark.parametrize(
    "call", [lambda one: gl.parallel.send(one, 1 - gl.parallel.rank()), gl.parallel.all_reduce]
)
def test_a_sparse_tensor_is_refused(call, backend):
    with pytest.raises(gl.errors.RankError, match="BadInput: tensor is sparse: give a plain one"):
        launch(lambda: call(torch.eye(2).to_sparse()), 2, backend=backend, timeout=20)

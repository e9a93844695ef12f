"""Collectives from send and receive: equal to plain arithmetic, to torch's, and to the formulas."""

import functools
import operator

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.parallel.allreduce import ALGORITHMS

LINK = gl.parallel.Link(latency=10e-6, bandwidth=1e9)
DTYPES = [torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8, torch.float16]
OPS = {"sum": operator.add, "product": operator.mul, "max": torch.maximum, "min": torch.minimum}
COUNTS = st.integers(1, 9)
SHAPES = st.lists(st.integers(0, 5), max_size=3)
quick = settings(max_examples=30, deadline=None)


def given_to(rank, shape, dtype, seed=0):
    """Small whole numbers: sums of them are exact in every dtype here."""
    torch.manual_seed(100 * seed + rank)
    return torch.randint(0, 4, shape).to(dtype)


def expected(count, shape, dtype, op="sum"):
    return functools.reduce(OPS[op], [given_to(r, shape, dtype) for r in range(count)])


@quick
@given(
    count=COUNTS,
    shape=SHAPES,
    dtype=st.sampled_from(DTYPES),
    op=st.sampled_from(list(OPS)),
    algorithm=st.sampled_from(list(ALGORITHMS)),
    turned=st.booleans(),
)
def test_all_reduce_is_plain_arithmetic(count, shape, dtype, op, algorithm, turned):
    def reduces():
        mine = given_to(gl.parallel.rank(), shape, dtype)
        whole = torch.zeros(*shape, 2, dtype=dtype)[..., 0] if turned else mine.clone()
        whole.copy_(mine)  # a view with gaps, or a plain tensor
        returned = gl.parallel.all_reduce(whole, op, algorithm)
        return whole, returned is whole

    total = expected(count, shape, dtype, op)
    for got, same in gl.simulate(reduces, count).results:
        assert same
        assert got.dtype == dtype
        assert torch.equal(got, total)


@quick
@given(
    count=COUNTS, shape=SHAPES, dtype=st.sampled_from(DTYPES), data=st.data(),
    op=st.sampled_from(list(OPS)),
)  # fmt: skip
def test_the_other_collectives_are_plain_arithmetic(count, shape, dtype, data, op):
    root = data.draw(st.integers(0, count - 1))
    rows = [data.draw(st.integers(0, 11)), *shape]

    def speaks():
        me = gl.parallel.rank()
        sent = gl.parallel.broadcast(given_to(me, shape, dtype), root)
        kept = given_to(me, shape, dtype)
        gl.parallel.reduce(kept, root, op)
        cut = given_to(me, rows, dtype)
        before = cut.clone()
        results = (
            gl.parallel.all_gather(kept * 0 + me),
            gl.parallel.reduce_scatter(cut, op),
            gl.parallel.all_to_all(cut),
        )
        assert torch.equal(cut, before)
        return sent, kept, *results

    total = expected(count, rows, dtype, op).tensor_split(count)
    for me, (sent, kept, gathered, scattered, swapped) in enumerate(
        gl.simulate(speaks, count).results
    ):
        assert torch.equal(sent, given_to(root, shape, dtype))
        own = given_to(me, shape, dtype)
        assert torch.equal(kept, expected(count, shape, dtype, op) if me == root else own)
        ranks = torch.arange(count).to(dtype).reshape(-1, *[1] * len(shape))
        assert torch.equal(gathered, ranks.expand(count, *shape))
        assert torch.equal(scattered, total[me])
        parts = [given_to(r, rows, dtype).tensor_split(count)[me] for r in range(count)]
        assert torch.equal(swapped, torch.cat(parts))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_ranks_end_with_the_same_bits(algorithm):
    def reduces():
        torch.manual_seed(gl.parallel.rank())
        return gl.parallel.all_reduce(
            torch.randn(1001) * 10 ** torch.randn(1001), algorithm=algorithm
        )

    for count in (2, 3, 5, 8):
        first, *others = gl.simulate(reduces, count).results
        assert all(torch.equal(first, other) for other in others)


def test_a_leaf_that_wants_gradients_is_reduced():
    def reduces():
        weight = torch.nn.Parameter(torch.ones(3))
        gl.parallel.broadcast(gl.parallel.all_reduce(weight))
        return weight.tolist()

    assert gl.simulate(reduces, 3).results == [[3.0] * 3] * 3


# the formulas


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("count", range(1, 10))
def test_seconds_are_those_of_the_formulas(algorithm, count):
    numbers = 40 * count  # a multiple of N: all chunks of the ring are equal
    run = gl.simulate(
        lambda: gl.parallel.all_reduce(torch.ones(numbers), algorithm=algorithm), count, link=LINK
    )
    size = 4 * numbers
    seconds = gl.parallel.all_reduce_seconds(algorithm, count, size, LINK)
    assert run.seconds == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("numbers", [0, 1, 5, 23])
def test_every_rank_of_the_ring_sends_its_part_also_where_chunks_differ(numbers):
    count = 4
    run = gl.simulate(lambda: gl.parallel.ring_all_reduce(torch.ones(numbers)), count)
    assert run.messages_sent == [2 * (count - 1)] * count
    assert sum(run.bytes_sent) == count * gl.parallel.ring_bytes_per_rank(count, 4 * numbers)
    spread = max(run.bytes_sent) - gl.parallel.ring_bytes_per_rank(count, 4 * numbers)
    assert spread <= 2 * 4  # one number more in each of the two rounds
    assert set(run.messages) == {(r, (r + 1) % count) for r in range(count)} if numbers else True


def test_the_cost_of_the_others():
    for name, rounds, size in (
        ("broadcast", 3, 256),
        ("reduce", 3, 256),
        ("all_gather", 7, 256),
        ("reduce_scatter", 7, 32),
        ("all_to_all", 7, 32),
    ):
        run = gl.simulate(getattr(gl.parallel, name), 8, torch.ones(64), link=LINK)
        assert run.seconds == pytest.approx(rounds * LINK.seconds(size)), name


# real ranks


def everything(shapes):
    """All collectives on whole and on rounded numbers; ours, and torch's where it is there."""
    me, count = gl.parallel.rank(), gl.parallel.world_size()
    ours, library = [], []
    for shape in shapes:
        for dtype in (torch.float32, torch.int64, torch.float64):
            whole = given_to(me, shape, dtype)
            torch.manual_seed(me)
            rough = torch.randn(shape)
            for algorithm in ALGORITHMS:
                for op in ("sum", "max"):
                    ours.append(gl.parallel.all_reduce(whole.clone(), op, algorithm))
                    if dist.is_initialized():
                        library.append(whole.clone())
                        dist.all_reduce(library[-1], getattr(dist.ReduceOp, op.upper()))
                ours.append(gl.parallel.all_reduce(rough.clone(), algorithm=algorithm))
                library.append(None)
            for root in range(count):
                pair = [whole.clone(), whole.clone()]
                ours += [gl.parallel.broadcast(pair[0], root), gl.parallel.reduce(pair[1], root)]
                if dist.is_initialized():
                    library.append(whole.clone())
                    dist.broadcast(library[-1], root)
                    other = whole.clone()
                    dist.reduce(other, root)
                    library.append(other if me == root else whole)
            ours.append(gl.parallel.all_gather(whole))
            if dist.is_initialized():
                rows = [torch.empty_like(whole) for _ in range(count)]
                dist.all_gather(rows, whole)
                library.append(torch.stack(rows))
            rows = given_to(me, (3 * count, 2), dtype)
            ours += [gl.parallel.reduce_scatter(rows), gl.parallel.all_to_all(rows)]
            if dist.is_initialized():
                part = torch.empty(3, 2, dtype=dtype)
                dist.reduce_scatter(part, [r.contiguous() for r in rows.tensor_split(count)])
                swapped = torch.empty_like(rows)
                dist.all_to_all_single(swapped, rows)
                library += [part, swapped]
    gl.parallel.barrier()
    return ours, library


SIZES = [(7,), (2, 3), (), (0,), (1000,)]


def test_real_ranks_agree_with_the_library_and_with_simulated_ones_to_the_bit():
    real = gl.launch(everything, 3, SIZES)
    simulated = gl.launch(everything, 3, SIZES, backend="simulated")
    for (ours, library), (modeled, _) in zip(real, simulated, strict=True):
        assert len(ours) == len(library) == len(modeled) > 100
        assert all(b is None or torch.equal(a, b) for a, b in zip(ours, library, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(ours, modeled, strict=True))


def test_real_ranks_begin_go_on_and_wait():
    def talk():
        other = 1 - gl.parallel.rank()
        whole = torch.zeros(3, 2)
        leaving = gl.parallel.isend(torch.full((3,), gl.parallel.rank() + 1.0), other, tag=3)
        arriving = gl.parallel.irecv(whole[:, 1], other, tag=3)
        gl.parallel.compute(1.0)
        leaving.wait()
        arriving.wait()
        weight = torch.nn.Parameter(torch.full((2,), gl.parallel.rank() + 5.0))
        gl.parallel.broadcast(weight, root=1)
        return gl.parallel.world_size(), whole.tolist(), gl.parallel.clock() > 0, weight.tolist()

    a, b = gl.launch(talk, 2)
    assert a == (2, [[0.0, 2.0]] * 3, True, [6.0, 6.0])
    assert b == (2, [[0.0, 1.0]] * 3, True, [6.0, 6.0])

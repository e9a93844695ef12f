"""Shards: each sample once, and the library's own shards where it has the same options."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DistributedSampler

import gpulearn as gl


@settings(max_examples=100, deadline=None)
@given(
    count=st.integers(1, 50), size=st.integers(1, 9), uneven=st.sampled_from(["pad", "drop"]),
    seed=st.one_of(st.none(), st.integers(0, 5)), epoch=st.integers(0, 3),
)  # fmt: skip
def test_shards_are_those_of_the_library(count, size, uneven, seed, epoch):
    for rank in range(size):
        theirs = DistributedSampler(
            range(count), size, rank, shuffle=seed is not None, seed=seed or 0,
            drop_last=uneven == "drop",
        )  # fmt: skip
        theirs.set_epoch(epoch)
        ours = gl.parallel.shard_indices(count, rank, size, uneven=uneven, seed=seed, epoch=epoch)
        assert ours == list(theirs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": 0}, "count is 0"),
        ({"rank": 4}, "rank is 4, but there are 4 ranks"),
        ({"rank": -1}, "rank is -1"),
        ({"size": 1.5}, "size is 1.5"),
        ({"uneven": "paddd"}, "did you mean 'pad'"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"epoch": True}, "epoch is True"),
    ],
)
def test_bad_input_is_named(change, said):
    with pytest.raises(gl.errors.BadInput, match=re.escape(said)):
        gl.parallel.shard_indices(**{"count": 10, "rank": 0, "size": 4, **change})

"""What the mask of a warp function promises: who must come, who is heard, who is ordered."""

from typing import Any

import numpy as np
import pytest
from numba import int32

from simt import cuda

from . import sources
from .harness import findings, launch, line, only, threads, xray

FULL = 0xFFFFFFFF


CALLS = {
    "shfl_down_sync": "cuda.shfl_down_sync(FULL, i, 0)",
    "shfl_up_sync": "cuda.shfl_up_sync(FULL, i, 4)",
    "shfl_xor_sync": "cuda.shfl_xor_sync(FULL, i, 1)",
    "shfl_sync": "cuda.shfl_sync(FULL, i, 1)",
    "ballot_sync": "cuda.ballot_sync(FULL, 1)",
    "all_sync": "1 if cuda.all_sync(FULL, 1) else 0",
    "any_sync": "1 if cuda.any_sync(FULL, 1) else 0",
    "eq_sync": "1 if cuda.eq_sync(FULL, 1) else 0",
    "match_any_sync": "cuda.match_any_sync(FULL, 1)",
    "match_all_sync": "cuda.match_all_sync(FULL, 1)[0]",
    "syncwarp": "1; cuda.syncwarp()",
}
MEETING = """
def kernel(out):
    i = cuda.threadIdx.x
    if i < 20:
        out[i] = {}
"""
MEETINGS = {
    name: sources.module(MEETING.format(call), cuda, FULL=FULL).kernel
    for name, call in CALLS.items()
}


@pytest.mark.parametrize("name", MEETINGS)
def test_a_mask_that_names_a_lane_on_another_path(name: str) -> None:
    kernel = MEETINGS[name]
    found = only(xray(kernel, 2, 64, np.zeros(64, np.int64)), "barrier-divergence")
    assert found.line == line(kernel, f"cuda.{name}(")
    assert threads(found) == [((0, 0, 0), (0, 0, 0)), ((0, 0, 0), (20, 0, 0))]
    assert found.message == (
        f"the mask of {name} names lane 20, which is not here: "
        "thread 0 of block 0 waits, thread 20 took another path"
    )


@pytest.mark.parametrize("name", MEETINGS)
@pytest.mark.parametrize("block", [16, 20])
def test_lanes_that_the_block_does_not_have_need_not_come(name: str, block: int) -> None:
    launch(MEETINGS[name], 2, block, np.zeros(64, np.int64))


def returns_early(out):
    i = cuda.threadIdx.x
    if i == 40:
        return
    out[i] = cuda.shfl_sync(FULL, i, 0)


def votes_after_some_left(out):
    i = cuda.threadIdx.x
    if i >= 40:
        return
    cuda.syncwarp()
    out[i] = cuda.popc(cuda.ballot_sync(FULL, 1))


def test_votes_wait_only_for_threads_that_have_not_left() -> None:
    out = np.zeros(64, np.int64)
    assert not xray(votes_after_some_left, 1, 64, out).findings
    assert out.tolist() == [32] * 32 + [8] * 8 + [0] * 24


def test_a_shuffle_whose_mask_names_a_lane_that_has_returned() -> None:
    """ "All non-exited threads named in mask" must come; lane 0, which all read, does."""
    out = np.zeros(64, np.int64)
    assert xray(returns_early, 1, 64, out).ok
    assert out.tolist() == [0] * 32 + [32] * 8 + [0] + [32] * 23


def sum_of_eleven(a, out, first, clean):
    i = cuda.threadIdx.x
    v = a[i] if i < 11 else int32(0)
    if i < 11 or clean:
        mask = FULL if clean else cuda.activemask()
        step = first
        while step:
            v += cuda.shfl_down_sync(mask, v, step)
            step //= 2
        if i == 0:
            out[0] = v


def sum_after_others_left(a, out):
    i = cuda.threadIdx.x
    if i >= 16:
        return
    v = a[i]
    step = 8
    while step:
        v += cuda.shfl_down_sync(FULL, v, step)
        step //= 2
    if i == 0:
        out[0] = v


def test_a_value_from_a_lane_that_takes_no_part_counts_where_it_is_used() -> None:
    a = np.arange(32, dtype=np.int32)
    report = xray(sum_of_eleven, 1, 32, a, np.zeros(1, np.int64), 8, False)
    found = only(report, "uninitialized-read")
    assert found.line == line(sum_of_eleven, "cuda.shfl_down_sync")
    assert "thread 3 of block 0 takes the value of lane 11" in found.message
    for kernel, args, wanted in (
        (sum_of_eleven, (16, True), 55),
        (sum_after_others_left, (), 120),  # lanes 8 to 15 get what nobody uses
    ):
        out = np.zeros(1, np.int64)
        assert xray(kernel, 1, 32, a, out, *args).ok
        assert out[0] == wanted


def two_groups(out):
    """Both halves of a warp vote in one statement, each among its own."""
    i = cuda.threadIdx.x
    mask = 0xFFFF if i < 16 else 0xFFFF0000
    out[0, i] = cuda.ballot_sync(mask, i % 2) & FULL
    out[1, i] = 1 if cuda.all_sync(mask, i < 16) else 0
    out[2, i] = 1 if cuda.any_sync(mask, i < 16) else 0
    out[3, i] = 1 if cuda.eq_sync(mask, i < 16) else 0
    out[4, i] = cuda.match_any_sync(mask, i % 2) & FULL
    out[5, i] = cuda.match_all_sync(mask, i < 16)[0] & FULL
    out[6, i] = cuda.shfl_xor_sync(mask, i, 1)


def test_votes_and_shuffles_hear_only_the_lanes_of_their_mask() -> None:
    out = np.zeros((7, 32), np.int64)
    launch(two_groups, 1, 32, out)
    low = np.arange(32) < 16
    odd = np.arange(32) % 2 == 1
    group = np.where(low, 0xFFFF, 0xFFFF0000)
    want = [
        group & 0xAAAAAAAA, low, low, np.ones(32),
        group & np.where(odd, 0xAAAAAAAA, 0x55555555), group, np.arange(32) ^ 1,
    ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(want).astype(np.int64))


# --- what syncwarp orders


def scripted(kinds, masks, out):
    s = cuda.shared.array(16, int32)
    i = cuda.threadIdx.x
    place = i % 16
    if i < 16:
        s[i] = 0
    cuda.syncthreads()
    for step in range(kinds.shape[0]):
        if kinds[step, i] == 1:
            out[i] += s[place]
        elif kinds[step, i] == 2:
            s[place] = 100 * step + i + 1
        if masks[step, i] != 0:
            cuda.syncwarp(masks[step, i])


def races(kinds: np.ndarray, masks: np.ndarray) -> bool:
    """By keeping, for each lane, the accesses that it knows to be over."""
    known: list[set[tuple[int, int]]] = [set() for _ in range(32)]
    for step, row in enumerate(kinds):
        for lane in np.flatnonzero(row):
            known[lane].add((step, int(lane)))
        for lane in np.flatnonzero(row):
            other = (int(lane) + 16) % 32
            for before in range(step + 1):
                there = kinds[before, other]
                harmless = there == 0 or 2 not in (there, row[lane])
                if not harmless and (before, other) not in known[lane]:
                    return True
        for mask in set(masks[step].tolist()) - {0}:
            group = [k for k in range(32) if mask >> k & 1]
            together = set().union(*(known[k] for k in group))
            for k in group:
                known[k] = set(together)
    return False


def test_syncwarp_of_any_groups_by_exhaustive_search() -> None:
    """Two lanes share each word; knowledge passes from group to group."""
    seen = set()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        steps = int(rng.integers(2, 7))
        kinds = np.zeros((steps, 32), np.int64)
        for _ in range(int(rng.integers(2, 6))):
            kinds[rng.integers(steps), rng.choice([3, 19, 7, 23])] = rng.integers(1, 3)
        masks = np.zeros((steps, 32), np.int64)
        for row in masks:
            label = rng.integers(0, int(rng.integers(1, 4)), 32)
            for k in range(3):
                if k or rng.random() < 0.5:
                    row[label == k] = int((1 << np.flatnonzero(label == k)).sum())
        want = races(kinds, masks)
        seen.add(want)
        report = xray(scripted, 1, 32, kinds, masks, np.zeros(32, np.int64))
        found = findings(report, "race")
        assert bool(found) is want, f"seed {seed}: {report.findings}"
    assert seen == {True, False}


# --- fences, and memory that nobody has written


def fence_without_a_signal(a, out):
    b = cuda.blockIdx.x
    a[b] = b + 1
    cuda.threadfence()
    out[b] = a[1 - b]


def test_a_fence_alone_does_not_order_blocks() -> None:
    args: tuple[Any, ...] = (np.zeros(2, np.int64), np.zeros(2, np.int64))
    found = only(xray(fence_without_a_signal, 2, 1, *args), "race")
    assert found.array == "a"


def half_a_mask(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_down_sync(0xFFFF, i, 1)


def mask_of_others(out):
    i = cuda.threadIdx.x
    if i < 40:
        out[i] = cuda.popc(cuda.ballot_sync(~(1 << cuda.laneid), 1))


@pytest.mark.parametrize(("kernel", "lane"), [(half_a_mask, 16), (mask_of_others, 0)])
def test_a_mask_that_does_not_name_its_caller(kernel: Any, lane: int) -> None:
    """Undefined in CUDA: each calling thread must have its own bit set."""
    found = only(xray(kernel, 1, 64, np.zeros(64, np.int64)), "barrier-divergence")
    assert threads(found) == [((0, 0, 0), (lane, 0, 0))]
    assert f"thread {lane} of block 0 calls" in found.message
    assert found.message.endswith(f"its mask does not name it: the bit of lane {lane} must be set")


@pytest.mark.parametrize("operand", [-1, 33, 64, -32, 31])
def test_of_the_operand_of_a_shuffle_the_lower_five_bits_count(operand: int) -> None:
    """As PTX's `shfl.sync` reads its operand b."""

    @cuda.jit
    def shuffle(out, k):
        t = cuda.threadIdx.x
        out[0, t] = cuda.shfl_sync(0xFFFFFFFF, t, k)
        out[1, t] = cuda.shfl_up_sync(0xFFFFFFFF, t, k)
        out[2, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, k)
        out[3, t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, k)

    out = cuda.to_device(np.zeros((4, 32), np.int64))
    shuffle[1, 32](out, operand)
    lanes, k = np.arange(32), operand & 31
    want = [
        np.full(32, k),
        np.where(lanes >= k, lanes - k, lanes),
        np.where(lanes + k < 32, lanes + k, lanes),
        lanes ^ k,
    ]
    np.testing.assert_array_equal(out.copy_to_host(), want)

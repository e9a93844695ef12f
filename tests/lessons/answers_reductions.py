"""Answers to the exercises of notebook 07 by another hand than the catalogue's."""

import math

import numpy as np
from numba import cuda as numba_cuda
from numba import int32

from gpulearn import cuda
from gpulearn.kernels.histogram import BINS
from gpulearn.kernels.reduction import FULL_WARP, THREADS, WARP

ALL = 0xFFFFFFFF
HALVES = (16, 8, 4, 2, 1)


@cuda.jit(device=True)
def warp_total(value):
    for distance in HALVES:
        value += cuda.shfl_down_sync(FULL_WARP, value, distance)
    return value


@cuda.jit(device=True)
def all_add(value):
    offset = 1
    while offset < 32:
        value += cuda.shfl_xor_sync(ALL, value, offset)
        offset *= 2
    return value


@cuda.jit(device=True)
def all_max(value):
    for offset in HALVES:
        other = cuda.shfl_xor_sync(ALL, value, offset)
        if other > value:
            value = other
    return value


@numba_cuda.jit
def counted_runs_of_blocks(values, counts):
    box = numba_cuda.shared.array(BINS, int32)
    t, wide = numba_cuda.threadIdx.x, numba_cuda.blockDim.x
    for b in range(t, counts.size, wide):
        box[b] = int32(0)
    numba_cuda.syncthreads()
    share = (values.size + numba_cuda.gridDim.x - 1) // numba_cuda.gridDim.x
    begin = numba_cuda.blockIdx.x * share
    for i in range(begin + t, min(begin + share, values.size), wide):
        numba_cuda.atomic.add(box, values[i], int32(1))
    numba_cuda.syncthreads()
    for b in range(t, counts.size, wide):
        numba_cuda.atomic.add(counts, b, box[b])


def summed_tree_down(values, sums):
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    s[t] = 0
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        s[t] += values[i]
    step = cuda.blockDim.x >> 1
    while step:
        cuda.syncthreads()
        if t < step:
            s[t] += s[t + step]
        step >>= 1
    if t == 0:
        sums[cuda.blockIdx.x] = s[t]


def warp_whole_warps_leave(values, sums):
    i = cuda.grid(1)
    warp = i // WARP
    if warp >= sums.shape[0]:
        return
    total = np.float32(0)
    if i < values.shape[0]:
        total = values[i]
    total = warp_total(total)
    if i == warp * WARP:
        sums[warp] = total


def scanned_by_warps(values, out):
    ends = cuda.shared.array(WARP, np.int32)
    t = cuda.threadIdx.x
    lane, warp = t % WARP, t // WARP
    own = values[t] if t < values.size else np.int32(0)
    total = own
    for step in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(ALL, total, step)
        if lane >= step:
            total += below
    if lane == WARP - 1:
        ends[warp] = total
    cuda.syncthreads()
    before = 0
    for w in range(warp):
        before += ends[w]
    if t < out.size:
        out[t] = before + total - own


def softmax_online(scores, out):
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    lane = cuda.laneid
    top, whole = np.float32(-math.inf), np.float32(0)
    j = lane
    while j < scores.shape[1]:
        s = scores[row, j]
        if s > top:
            whole = whole * math.exp(top - s)
            top = s
        whole += math.exp(s - top)
        j += WARP
    best = all_max(top)
    if whole > 0:
        whole *= math.exp(top - best)
    whole = all_add(whole)
    for j in range(lane, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - best) / whole


def last_by_turned_ticket(values, sums, ticket, total):
    part = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        part += values[i]
    part = warp_total(part)
    if cuda.laneid > 0:
        return
    sums[cuda.blockIdx.x] = part
    cuda.threadfence()
    before = cuda.atomic.add(ticket, 0, 1)
    if before + 1 < cuda.gridDim.x:
        return
    cuda.threadfence()
    whole = np.float32(0)
    b = sums.size
    while b > 0:
        b -= 1
        whole += sums[b]
    total[0] = whole
    cuda.atomic.sub(ticket, 0, before + 1)


def compacted_bit_by_bit(values, limit, kept, counts):
    i = cuda.grid(1)
    mine = values[i] if i < values.size else limit
    votes = cuda.ballot_sync(ALL, mine > limit)
    first = i - cuda.laneid
    if mine > limit:
        kept[first + cuda.popc(votes << (32 - cuda.laneid) & ALL)] = mine
    if i == first and first < values.size:
        counts[first // 32] = cuda.popc(votes)


RIGHT = {
    "histogram_shared": (counted_runs_of_blocks,),
    "sum_blocks": (summed_tree_down,),
    "warp_sum": (warp_whole_warps_leave,),
    "grid_sum_last": (last_by_turned_ticket,),
    "softmax_rows": (softmax_online,),
    "exclusive_scan": (scanned_by_warps,),
    "compact_warps": (compacted_bit_by_bit,),
}


def summed_last_warp_unsynced(values, sums):
    s = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    s[t] = total
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 16:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t < 16:
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        sums[cuda.blockIdx.x] = s[0]


def summed_all_in_first(values, sums):
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        for k in range(cuda.blockDim.x):
            i = cuda.blockIdx.x * cuda.blockDim.x + k
            while i < values.size:
                total += values[i]
                i += cuda.gridsize(1)
        sums[cuda.blockIdx.x] = total


def scanned_by_thread_zero(values, out):
    if cuda.threadIdx.x == 0:
        total = 0
        for i in range(out.size):
            out[i] = total
            total += values[i]


def softmax_every_lane_all(scores, out):
    row = cuda.grid(1) // WARP
    if row >= scores.shape[0]:
        return
    top = scores[row, 0]
    for j in range(scores.shape[1]):
        top = max(top, scores[row, j])
    whole = np.float32(0)
    for j in range(scores.shape[1]):
        whole += math.exp(scores[row, j] - top)
    for j in range(cuda.laneid, scores.shape[1], WARP):
        out[row, j] = math.exp(scores[row, j] - top) / whole


def warp_shuffles_in_a_branch(values, sums):
    i = cuda.grid(1)
    total = values[i] if i < values.size else np.float32(0)
    for step in HALVES:
        if cuda.laneid < step:
            total += cuda.shfl_down_sync(FULL_WARP, total, step)
    if i % WARP == 0 and i < values.size:
        sums[i // WARP] = total


def counted_in_local_memory(values, counts):
    mine = cuda.local.array(BINS, np.int32)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine[values[i]] += 1
    for b in range(counts.size):
        cuda.atomic.add(counts, b, mine[b])


def counted_merges_all_bins(values, counts):
    private = cuda.shared.array(BINS, np.int32)
    for b in range(cuda.threadIdx.x, counts.size, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(private, values[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, private[b])


def grid_sum_waits_for_all(values, sums, ticket, total):
    part = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        part += values[i]
    for step in HALVES:
        part += cuda.shfl_down_sync(FULL_WARP, part, step)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = part
        cuda.threadfence()
        cuda.atomic.add(ticket, 0, 1)
        if cuda.blockIdx.x == 0:
            while cuda.atomic.add(ticket, 0, 0) < cuda.gridDim.x:
                pass
            cuda.threadfence()
            whole = np.float32(0)
            for b in range(cuda.gridDim.x):
                whole += sums[b]
            total[0] = whole
            cuda.atomic.exch(ticket, 0, 0)


def scanned_with_three_barriers(values, out):
    s = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    mine = values[t] if t < values.size else np.int32(0)
    s[t] = mine
    step = 1
    while step < cuda.blockDim.x:
        cuda.syncthreads()
        before = s[t - step] if t >= step else np.int32(0)
        cuda.syncthreads()
        s[t] += before
        cuda.syncthreads()
        step *= 2
    if t < out.size:
        out[t] = s[t] - mine


WRONG = [
    ("histogram_shared", counted_merges_all_bins, "counts.size of them."),
    ("grid_sum_last", grid_sum_waits_for_all, "waits for no other block: the block with the last"),
    ("exclusive_scan", scanned_with_three_barriers, "two barriers per round are enough."),
    (
        "warp_sum",
        warp_shuffles_in_a_branch,
        "thread 0 of block 0 waits, thread 16 took another path.",
    ),
    ("histogram_shared", counted_in_local_memory, "it may hold anything."),
    ("sum_blocks", summed_last_warp_unsynced, "no barrier between them."),
    ("sum_blocks", summed_all_in_first, "are at work"),
    ("exclusive_scan", scanned_by_thread_zero, "are at work"),
    ("softmax_rows", softmax_every_lane_all, "Let each lane take every 32nd score"),
]

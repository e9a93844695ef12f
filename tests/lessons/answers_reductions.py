"""Answers to the exercises of notebook 07 by another hand than the catalogue's."""

import math

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.histogram import BINS
from gpulearn.kernels.reduction import FULL_WARP, THREADS, WARP

HALVES = (16, 8, 4, 2, 1)


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

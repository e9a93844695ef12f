"""Races by exhaustive search: the machine must report one exactly where there is one.

A kernel that reads its own script from arrays does random reads, writes and atomics, with
random barriers between the steps. The oracle compares every two accesses: they race if
two threads touch one word, one of them writes it, not both are atomic, and no barrier
that both threads meet lies between them.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from numba import int32

from simt import cuda
from simt.core.chunk import Chunk
from simt.observers import shadow

from .harness import findings, xray

NOTHING, READ, WRITE, ATOMIC = range(4)
NO_BARRIER, WARP, BLOCK = range(3)
WORDS = 96


@cuda.jit(device=True)
def follow(kinds, places, barriers, out, memory, t):
    total = 0
    for step in range(barriers.size):
        kind = kinds[step, t]
        place = places[step, t]
        if kind == 1:
            total += memory[place]
        elif kind == 2:
            memory[place] = 1000 * step + t
        elif kind == 3:
            cuda.atomic.add(memory, place, 1)
        if barriers[step] == 1:
            cuda.syncwarp()
        elif barriers[step] == 2:
            cuda.syncthreads()
    out[t] = total


def in_shared_memory(kinds, places, barriers, out):
    s = cuda.shared.array(96, int32)
    for k in range(cuda.threadIdx.x, 96, cuda.blockDim.x):
        s[k] = k
    cuda.syncthreads()
    follow(kinds, places, barriers, out, s, cuda.threadIdx.x)


def in_global_memory(kinds, places, barriers, out, memory):
    follow(kinds, places, barriers, out, memory, cuda.grid(1))


@dataclass
class Script:
    """What every thread does at every step; `block` threads to a block."""

    kinds: np.ndarray
    places: np.ndarray
    barriers: np.ndarray
    block: int

    def ordered(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Whether a barrier that both threads meet lies between two (step, thread)."""
        between = self.barriers[a[0] : b[0]]
        if a[1] // self.block != b[1] // self.block:
            return False
        same_warp = a[1] % self.block // 32 == b[1] % self.block // 32
        return bool((between == BLOCK).any() or (same_warp and (between == WARP).any()))

    def races(self) -> bool:
        accesses: dict[int, list[tuple[int, int, int]]] = {}
        for (step, thread), kind in np.ndenumerate(self.kinds):
            if kind != NOTHING:
                place = int(self.places[step, thread])
                accesses.setdefault(place, []).append((step, thread, int(kind)))
        for here in accesses.values():
            for a, b in itertools.combinations(sorted(here), 2):
                harmless = a[2] == b[2] and a[2] in (READ, ATOMIC)
                if a[1] != b[1] and not harmless and not self.ordered(a[:2], b[:2]):
                    return True
        return False

    def run(self, memory: np.ndarray) -> np.ndarray:
        """What each thread reads in all, one step after another: right if nothing races."""
        total = np.zeros(self.kinds.shape[1], np.int64)
        for step, kinds in enumerate(self.kinds):
            for thread in np.flatnonzero(kinds):
                place = self.places[step, thread]
                if kinds[thread] == READ:
                    total[thread] += memory[place]
                elif kinds[thread] == WRITE:
                    memory[place] = 1000 * step + thread
                else:
                    memory[place] += 1
        return total


def script(seed: int, threads: int, block: int) -> Script:
    """Mostly each thread on words of its own, now and then on another's."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, 7))
    shape = (steps, threads)
    kinds = rng.choice(4, shape, p=rng.dirichlet([2, 2, 2, 0.5]))
    lane = np.arange(threads) % WORDS
    home = rng.choice([lane, lane[::-1], lane ^ 1, (lane + 32) % min(threads, WORDS)], axis=0)
    places = np.where(rng.random(steps)[:, None] < 0.5, lane, home)
    if rng.random() < 0.5:  # one access goes astray
        places[rng.integers(steps), rng.integers(threads)] = rng.integers(WORDS)
    if rng.random() < 0.5:
        kinds[:, rng.random(threads) < 0.8] = NOTHING
    barriers = rng.choice(3, steps, p=[[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]][rng.integers(2)])
    return Script(kinds, places, barriers, block)


def report_and_sum(kernel, plan: Script, grid: int, memory: np.ndarray | None = None):
    out = np.zeros(plan.kinds.shape[1], np.int64)
    copies = [] if memory is None else [memory.copy()]
    steps = plan.kinds, plan.places, plan.barriers
    report = xray(kernel, grid, plan.block, *steps, out, *copies)
    return report, out, *(copies or [None])


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_shared_memory(first: int) -> None:
    seen = set()
    for seed in range(first, first + 50):
        plan = script(seed, threads=[32, 40, 64, 96][seed % 4], block=[32, 40, 64, 96][seed % 4])
        report, total, _ = report_and_sum(in_shared_memory, plan, 1)
        want = plan.races()
        seen.add(want)
        assert bool(findings(report, "race")) is want, f"seed {seed}: {report.findings}"
        assert report.ok is not want
        if not want:
            memory = np.arange(WORDS, dtype=np.int32)
            np.testing.assert_array_equal(total, plan.run(memory), err_msg=f"seed {seed}")
    assert seen == {True, False}


@pytest.mark.parametrize("slow", ["each block apart", "each element apart", "both"])
def test_what_saves_time_shows_nowhere(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block stands for all that do the same; what stood in memory before is kept whole."""
    plans = [script(seed, 64, 64) for seed in range(40)]
    grids = [1 + seed % 4 for seed in range(40)]
    runs = [report_and_sum(in_shared_memory, p, g) for p, g in zip(plans, grids, strict=True)]
    assert len({report.ok for report, *_ in runs}) == 2
    if slow != "each element apart":
        monkeypatch.setattr(Chunk, "in_each_block", lambda *access: None)
    if slow != "each block apart":
        monkeypatch.setattr(shadow, "SNAPSHOT_BYTES", 0)
    for plan, grid, (report, total, _) in zip(plans, grids, runs, strict=True):
        apart, want, _ = report_and_sum(in_shared_memory, plan, grid)
        assert report.findings == apart.findings
        np.testing.assert_array_equal(total, want)


@pytest.mark.parametrize("first", range(1000, 1100, 50))
def test_global_memory(first: int) -> None:
    seen = set()
    for seed in range(first, first + 50):
        grid = 1 + seed % 3
        plan = script(seed, threads=32 * grid, block=32)
        start = np.arange(WORDS, dtype=np.int32)
        report, total, memory = report_and_sum(in_global_memory, plan, grid, start)
        want = plan.races()
        seen.add(want)
        races = [f for f in findings(report, "race") if f.array == "memory"]
        assert bool(races) is want, f"seed {seed}: {report.findings}"
        if not want:
            np.testing.assert_array_equal(total, plan.run(start), err_msg=f"seed {seed}")
            np.testing.assert_array_equal(memory, start)
    assert seen == {True, False}


@pytest.mark.parametrize("kinds", list(itertools.product([READ, WRITE, ATOMIC], repeat=4)))
def test_four_accesses_by_three_threads(kinds: tuple[int, ...]) -> None:
    for who in ((0, 40, 1, 40), (40, 0, 0, 0)):
        script = np.zeros((4, 64), int)
        for step, (kind, thread) in enumerate(zip(kinds, who, strict=True)):
            script[step, thread] = kind
        for barrier in ((NO_BARRIER, NO_BARRIER), (WARP, NO_BARRIER), (NO_BARRIER, BLOCK)):
            plan = Script(script, np.zeros((4, 64), int), np.array([*barrier, 0, 0]), 64)
            report, _, _ = report_and_sum(in_shared_memory, plan, 1)
            want = plan.races()
            assert bool(findings(report, "race")) is want, (who, barrier, want)

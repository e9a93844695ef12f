"""Sums of blocks, warps and grids: their references, and the cost of each form."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.grid_sum import (
    GRID_SUM_ATOMIC,
    GRID_SUM_COOPERATIVE,
    GRID_SUM_LAST,
    grid_sum_atomic,
)
from gpulearn.kernels.reduction import (
    block_sums_interleaved,
    block_sums_packed,
    block_sums_sequential,
    block_sums_shuffle,
    few_blocks,
    sum_blocks,
    sums_in_rounds,
    sums_of_stretches,
)

LADDER = (block_sums_interleaved, block_sums_packed, block_sums_sequential, block_sums_shuffle)


def values(n: int) -> np.ndarray:
    """Small whole numbers, whose float32 sums are exact in any order."""
    return np.random.default_rng(n).integers(-99, 99, n).astype(np.float32)


def xrayed(kernel, grid, block, given, outputs):
    out = cuda.to_device(np.full(outputs, np.nan, np.float32))
    report = gl.xray(kernel)[grid, block](cuda.to_device(given), out)
    assert not report.findings
    return report


@pytest.mark.parametrize("n", [1, 63, 64, 65, 999])
def test_the_references_equal_a_loop_over_the_values(n):
    given = values(n)
    stretches, rounds = [0.0] * -(-n // 64), [0.0] * 3
    for i, value in enumerate(given.tolist()):
        stretches[i // 64] += value
        rounds[i // 64 % 3] += value
    (sums,) = sums_of_stretches(given, np.empty(len(stretches), np.float32), block=64)
    assert sums.tolist() == stretches
    (sums,) = sums_in_rounds(given, np.empty(3, np.float32), block=64)
    assert sums.tolist() == rounds
    (total,) = GRID_SUM_ATOMIC.reference(given, np.array([5], np.float32))
    assert total.tolist() == [5 + sum(rounds)]
    sums, total = GRID_SUM_COOPERATIVE.reference(given, *np.empty((2, 1), np.float32))
    assert [*sums.tolist(), *total.tolist()] == [sum(rounds)] * 2
    empty = np.empty(3, np.float32), np.zeros(1, np.int32), np.empty(1, np.float32)
    sums, ticket, total = GRID_SUM_LAST.reference(given, *empty)
    assert (sums.sum(), ticket.tolist(), total.tolist()) == (sum(rounds), [0], [sum(rounds)])


def test_a_loop_over_the_grid_has_few_blocks():
    assert [few_blocks(n, 256) for n in (1, 2048, 2049, 2**25)] == [1, 1, 2, 1056]


def test_an_atomic_float_sum_depends_on_the_order_of_the_blocks_and_a_tree_does_not():
    given = np.random.default_rng(5).random(20_000, np.float32)

    def totals(launch):
        found = set()
        for number in range(6):
            with gl.block_order(number):
                found.add(launch())
        return found

    def atomic():
        total = cuda.to_device(np.zeros(1, np.float32))
        grid_sum_atomic[64, 64](cuda.to_device(given), total)
        return float(total.copy_to_host()[0])

    def tree():
        sums, total = (cuda.to_device(np.zeros(k, np.float32)) for k in (64, 1))
        sum_blocks[64, 64](cuda.to_device(given), sums)
        sum_blocks[1, 64](sums, total)
        return float(total.copy_to_host()[0])

    assert len(totals(atomic)) > 1
    assert len(totals(tree)) == 1


def test_the_ladder_wins_at_each_rung_what_it_says():
    costs = {k: xrayed(k, 4, 256, values(1024), 4).totals for k in LADDER}
    interleaved, packed, sequential, shuffle = (costs[k] for k in LADDER)

    def conflicts(c):
        return c.shared_load_conflicts + c.shared_store_conflicts

    assert interleaved.divergent_branches > 4 * packed.divergent_branches
    assert conflicts(interleaved) == 0 < conflicts(packed)
    assert conflicts(sequential) == 0
    assert sequential.divergent_branches == packed.divergent_branches
    assert interleaved.barriers == packed.barriers == sequential.barriers == 4 * 8 * 9
    assert shuffle.barriers == 4 * 8
    assert shuffle.shared_load_wavefronts < sequential.shared_load_wavefronts / 10
    assert all(c.flops64 == 0 for c in costs.values())

"""Sums of blocks, warps and grids: right for odd sizes, and the cost of each form."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.grid_sum import (
    GRID_SUM_ATOMIC,
    GRID_SUM_COOPERATIVE,
    GRID_SUM_LAST,
    grid_sum_atomic,
    grid_sum_cooperative,
    grid_sum_last,
)
from gpulearn.kernels.reduction import (
    WARP_SUM,
    block_sums_interleaved,
    block_sums_packed,
    block_sums_sequential,
    block_sums_shuffle,
    few_blocks,
    sum_blocks,
    sums_in_rounds,
    sums_of_stretches,
)

from .launched import launched

LADDER = (
    block_sums_interleaved,
    block_sums_packed,
    block_sums_sequential,
    block_sums_shuffle,
)


def values(n: int) -> np.ndarray:
    """Small whole numbers, whose float32 sums are exact in any order."""
    return np.random.default_rng(n).integers(-99, 99, n).astype(np.float32)


def xrayed(kernel, grid, block, given, outputs):
    out = cuda.to_device(np.full(outputs, np.nan, np.float32))
    report = gl.xray(kernel)[grid, block](cuda.to_device(given), out)
    assert not report.findings
    return report, out.copy_to_host()


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


def test_a_loop_over_the_grid_has_few_blocks():
    assert [few_blocks(n, 256) for n in (1, 2048, 2049, 2**25)] == [1, 1, 2, 1056]


@pytest.mark.parametrize("kernel", LADDER)
@pytest.mark.parametrize(("n", "block"), [(100, 32), (1024, 256)])
def test_each_block_sums_its_part(kernel, n, block):
    blocks = -(-n // block)
    _, sums = xrayed(kernel, blocks, block, values(n), blocks)
    np.testing.assert_array_equal(sums, *sums_of_stretches(values(n), sums, block=block))


@pytest.mark.parametrize(("n", "grid", "block"), [(0, 2, 32), (1, 1, 1), (999, 3, 64)])
def test_sum_blocks_takes_any_number_of_values(n, grid, block):
    _, sums = xrayed(sum_blocks, grid, block, values(n), grid)
    np.testing.assert_array_equal(sums, *sums_in_rounds(values(n), sums, block=block))


@pytest.mark.parametrize("n", [1, 32, 33, 500])
def test_warp_sum(n):
    launched(
        WARP_SUM, values(n), np.full(-(-n // 32), np.nan, np.float32), grid=-(-n // 128), block=128
    )


@pytest.mark.parametrize("n", [0, 1, 999, 5000])
def test_one_launch_sums_the_grid(n):
    total = cuda.to_device(np.zeros(1, np.float32))
    report = gl.xray(grid_sum_atomic)[5, 64](cuda.to_device(values(n)), total)
    assert not report.findings
    assert total.copy_to_host()[0] == values(n).sum()
    assert report.arrays["total"].atomics == 5

    total = cuda.to_device(np.full(1, np.nan, np.float32))
    sums = cuda.to_device(np.full(5, np.nan, np.float32))
    report = gl.xray(grid_sum_cooperative)[5, 64](cuda.to_device(values(n)), sums, total)
    assert not report.findings
    assert total.copy_to_host()[0] == values(n).sum()


@pytest.mark.parametrize("n", [0, 1, 999, 5000])
def test_the_last_block_sums_the_grid_whoever_it_is_and_again(n):
    given, ticket = cuda.to_device(values(n)), cuda.to_device(np.zeros(1, np.int32))
    for number in range(3):
        sums = cuda.to_device(np.full(7, np.nan, np.float32))
        total = cuda.to_device(np.full(1, np.nan, np.float32))
        with gl.block_order(number):
            report = gl.xray(grid_sum_last)[7, 32](given, sums, ticket, total)
        assert not report.findings
        assert total.copy_to_host()[0] == values(n).sum()
        expected = GRID_SUM_LAST.reference(values(n), np.zeros(7), np.zeros(1, np.int32), total)
        np.testing.assert_array_equal(sums.copy_to_host(), expected[0])
        assert ticket.copy_to_host()[0] == 0


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
    costs = {k: xrayed(k, 4, 256, values(1024), 4)[0].totals for k in LADDER}
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

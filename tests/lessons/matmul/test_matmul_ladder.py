"""The rungs of the ladder: right for every size, and as cheap as their lesson says."""

import re

import numpy as np
import pytest
from numba import types

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.matmul import matmul_ladder, matmul_pairs, matmul_registers
from gpulearn_lessons.matmul.ladder import LADDER, PUBLISHED
from simt.numba_ptx.codegen import unfused_ptx

PACKAGE = [rung.kernel for rung in LADDER.values()] + [matmul_registers.matmul_register_patch]

# the others are exercises, whose cases are of such sizes and run in several orders of blocks
NO_EXERCISE = ["wide loads", "warp tiles"]
# a sum, just under, at and over each tile, and n that no depth divides
SIZES = [
    (1, 70, 1), (31, 32, 33), (65, 9, 130), (129, 7, 63), (128, 21, 256)
]  # fmt: skip


def even(matrix):
    """The matrix with a column of zeros where its row length is odd."""
    return np.pad(matrix, ((0, 0), (0, matrix.shape[1] % 2)))


def product(rung, a, b):
    """C by a rung, its output poisoned before, and the report."""
    if rung.pairs:
        a, b = even(a), even(b)
    c = cuda.to_device(np.full((a.shape[0], b.shape[1]), np.nan, np.float32))
    report = rung.report(cuda.to_device(a), cuda.to_device(b), c)
    return c.copy_to_host(), report


def test_the_reference_adds_row_times_column_of_numbers_and_of_words():
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 10, (3, 4)).astype(np.float32)
    b = rng.integers(-9, 10, (4, 6)).astype(np.float32)
    expected = [
        [sum(float(a[i, k]) * float(b[k, j]) for k in range(4)) for j in range(6)] for i in range(3)
    ]
    for x, y in ((a, b), (a.view(np.int64), b.view(np.int64))):
        (c,) = matmul_ladder.product(x, y, None)
        assert c.tolist() == expected


def test_a_block_covers_what_its_specification_says():
    a, b, c = (np.empty((100, 100), np.float32) for _ in "abc")
    grids = {n: r.specification.shape(*r.arguments(a, b, c))[0] for n, r in LADDER.items()}
    assert grids == {
        "naive": (4, 13),
        "coalesced": (4, 13),
        "shared tile": (4, 4),
        "register strip": (2, 2),
        "register tile": (2, 2),
        "wide loads": (2, 2),
        "warp tiles": (1, 1),
    }
    wide = np.empty((100, 50), np.float32)
    assert matmul_ladder.MATMUL_NAIVE.shape(a, wide, wide)[0] == (4, 7)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", NO_EXERCISE)
def test_a_rung_is_right_at_every_size(name, sizes):
    m, n, p = sizes
    rng = np.random.default_rng(m + n + p)
    a = rng.standard_normal((m, n), dtype=np.float32)
    b = rng.standard_normal((n, p), dtype=np.float32)
    c, report = product(LADDER[name], a, b)
    assert report.findings == []
    assert gl.relative_error(c[:, :p], *matmul_ladder.product(a, b, c)) < 1e-6
    assert not c[:, p:].any()


@pytest.mark.parametrize("name", NO_EXERCISE)
def test_a_rung_is_exact_on_whole_numbers_whatever_the_order_of_blocks(name):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 10, (2, 70, 70)).astype(np.float32)
    for seed in (0, 5):
        with gl.block_order(seed):
            c, _ = product(LADDER[name], a, b)
        np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("name", LADDER)
def test_infinities_and_nan_beyond_an_edge_never_come_in(name):
    # what lies behind a matrix in memory must not be read, not even times zero
    a, b = np.ones((33, 34), np.float32), np.ones((34, 66), np.float32)
    rung = LADDER[name]
    around = [np.full((40, x.shape[1]), np.nan, np.float32) for x in (a, b)]
    for big, small in zip(around, (a, b), strict=True):
        big[: len(small)] = small
    views = [cuda.to_device(big)[: len(small)] for big, small in zip(around, (a, b), strict=True)]
    c = cuda.to_device(np.full((33, 66), np.nan, np.float32))
    rung.launch(*views, c)
    np.testing.assert_array_equal(c.copy_to_host(), np.full((33, 66), 34, np.float32))


@pytest.fixture(scope="module")
def reports():
    return {name: rung.sample(128, 128) for name, rung in LADDER.items()}


def test_every_rung_does_the_same_work_in_float32(reports):
    for report in reports.values():
        assert report.totals.flops32 == gl.matmul_flops(128, 128, 128)
        assert report.totals.flops64 == 0
        assert report.findings == []


def test_sectors_per_request_of_each_rung(reports):
    def loads(name, array):
        return reports[name].arrays[array].sectors_per_load

    assert (loads("naive", "a"), loads("naive", "b")) == (32, 1)
    assert (loads("coalesced", "a"), loads("coalesced", "b")) == (1, 4)
    for name in ("shared tile", "register strip", "register tile"):
        assert (loads(name, "a"), loads(name, "b")) == (4, 4)
    assert (loads("wide loads", "a"), loads("wide loads", "b")) == (8, 8)
    assert (loads("warp tiles", "a"), loads("warp tiles", "b")) == (4, 4)
    stores = {name: report.totals.sectors_per_store for name, report in reports.items()}
    assert list(stores.values()) == [32, 4, 4, 4, 4, 8, 16]


def test_bytes_moved_follow_the_width_of_a_tile(reports):
    n = 128
    for name, side in (("shared tile", 32), ("register strip", 64), ("register tile", 64)):
        assert reports[name].totals.bytes_moved == 4 * (2 * n**3 // side + n * n)
    # a sector is written in four stores, since a lane's four neighbors go one after the other
    assert reports["warp tiles"].totals.bytes_moved == 4 * (2 * n**3 // 128 + 4 * n * n)


def test_loads_from_shared_memory_for_each_product(reports):
    products = 128**3 // 32  # of a warp
    wavefronts = {name: r.totals.shared_load_wavefronts / products for name, r in reports.items()}
    assert wavefronts == {
        "naive": 0,
        "coalesced": 0,
        "shared tile": 2,
        "register strip": 9 / 8,
        "register tile": 16 / 64,
        "wide loads": 12 / 64,  # eight lanes side by side load the same pair of `a`
        "warp tiles": 24 / 128,
    }
    for report in reports.values():
        assert report.totals.shared_load_conflicts == report.totals.shared_store_conflicts == 0


def test_wide_loads_halve_the_requests_and_move_the_same_bytes(reports):
    narrow, wide = reports["register tile"].totals, reports["wide loads"].totals
    assert 2 * wide.global_load_requests == narrow.global_load_requests
    assert 2 * wide.global_store_requests == narrow.global_store_requests
    assert wide.bytes_moved == narrow.bytes_moved


def test_two_barriers_for_each_tile_or_one_for_tiles_in_turn(reports):
    warps = {"shared tile": 16 * 32, "register strip": 4 * 16, "register tile": 4 * 2}
    tiles = {"shared tile": 4, "register strip": 16, "register tile": 16}
    for name, count in warps.items():
        assert reports[name].totals.barriers == 2 * tiles[name] * count
    # two tiles in turn need one, and 4 warps are a block
    assert reports["warp tiles"].totals.barriers == 128 // 8 * 4


def test_published_numbers_belong_to_the_rungs():
    assert list(PUBLISHED) == list(LADDER)


def ptx(kernel):
    """The kernel as Numba compiles it."""
    element = types.int64 if kernel is matmul_pairs.matmul_vectorized else types.float32
    return unfused_ptx(kernel, (element[:, ::1],) * 3)


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("kernel", PACKAGE, ids=lambda kernel: kernel.__name__)
def test_sums_stay_in_registers(kernel):
    assert not re.search(r"\b(ld|st)\.local\b", ptx(kernel))


@pytest.mark.usefixtures("_compiler")
def test_wide_loads_are_instructions_of_8_bytes():
    text = ptx(matmul_pairs.matmul_vectorized)
    loads = re.findall(r"\bld\.(?:global|shared)\S*", text)
    assert loads
    assert all(load.endswith("64") for load in loads)
    products = len(re.findall(r"\bmul\.(?:rn\.)?f32", text))
    narrow = ptx(matmul_registers.matmul_register_tiled)

    def shared_loads(text):
        return len(re.findall(r"\bld\.shared", text))

    # the same work in half as many loads from shared memory
    assert products / shared_loads(text) == 8
    assert len(re.findall(r"\bmul\.(?:rn\.)?f32", narrow)) / shared_loads(narrow) == 4


@pytest.mark.usefixtures("_compiler")
def test_a_complex_number_is_loaded_in_two_parts():
    # why the sixth rung takes int64: what looks like one load of 8 bytes is none
    def real_part(words, out):
        i = cuda.grid(1)
        value = words[i]
        out[i] = value.real + value.imag

    text = unfused_ptx(cuda.jit(real_part), (types.complex64[::1], types.float32[::1]))
    assert len(re.findall(r"\bld\.global\.f32", text)) == 2

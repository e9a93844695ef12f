"""Kernels before and after their fusion: equal to float64, and their bytes equal the formulas."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.softmax import SOFTMAX_ROWS
from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.between_kernels.attention import (
    ATTENTION_PRODUCT,
    ATTENTION_SCORES,
    ATTENTION_TILED,
)
from gpulearn_lessons.between_kernels.normalization import EPSILON, FUSED_NORMALIZE
from gpulearn_lessons.between_kernels.softmax_fused import (
    ONLINE_SOFTMAX,
    ROW_MAXIMA,
    ROW_SHARES,
    ROW_SUMS,
)


def numbers(*shape, scale=1.0, seed=0):
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def moved(*launches):
    """Runs launches (specification, arguments on the device) and adds up the bytes they move."""
    total = 0
    for specification, *args in launches:
        block = None
        if isinstance(args[-1], tuple):
            block = args.pop()
        grid, block = specification.shape(*args, block=block)
        report = gl.xray(specification.kernel)[grid, block](*args)
        assert not report.findings, report
        assert report.totals.flops64 == 0
        total += report.totals.bytes_moved
    return total


@pytest.fixture
def torch():
    """The oracle; not imported above: the compilers' tests run where it is not."""
    return pytest.importorskip("torch")


def room(*shape):
    return cuda.to_device(poisoned(*shape))


@pytest.mark.parametrize(("m", "n", "scale"), [(5, 8, 1.0), (7, 96, 300.0), (4, 200, 1e37)])
def test_softmax_three_ways(torch, m, n, scale):
    given = numbers(m, n, scale=scale)
    scores = cuda.to_device(given)
    maxima, sums, powers = room(m), room(m), room(m, n)
    bytes_of = {"three kernels": 20 * m * n + 128 * m, "one kernel": 16 * m * n}
    bytes_of["online"] = 12 * m * n
    results = {way: room(m, n) for way in bytes_of}
    launches = {
        "three kernels": (
            (ROW_MAXIMA, scores, maxima),
            (ROW_SUMS, scores, maxima, powers, sums),
            (ROW_SHARES, powers, sums, results["three kernels"]),
        ),
        "one kernel": ((SOFTMAX_ROWS, scores, results["one kernel"]),),
        "online": ((ONLINE_SOFTMAX, scores, results["online"]),),
    }
    wanted = torch.softmax(torch.tensor(given).double(), 1)
    for way, several in launches.items():
        assert moved(*several) == bytes_of[way]
        # exp of a number near −80 multiplies the rounding of its argument by 80
        np.testing.assert_allclose(results[way].copy_to_host(), wanted, rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize(("m", "n", "middle"), [(5, 8, 0.0), (9, 256, 1000.0), (3, 40, -5.0)])
def test_layer_normalization(torch, m, n, middle):
    given = middle + numbers(m, n)
    given[0] = middle  # a row of equal values
    x = cuda.to_device(given)
    fused = room(m, n)
    assert moved((FUSED_NORMALIZE, x, fused)) == 8 * m * n
    wanted = torch.nn.functional.layer_norm(torch.tensor(given).double(), (n,), eps=float(EPSILON))
    # a mean near 1000 is rounded by 3e-5
    np.testing.assert_allclose(fused.copy_to_host(), wanted, atol=1e-6 + 1e-7 * abs(middle))


def attended(torch, given):
    return torch.nn.functional.scaled_dot_product_attention(
        *(torch.tensor(x).double() for x in given)
    )


@pytest.mark.parametrize(("n", "rows"), [(32, 8), (64, 32), (96, 16)])
def test_attention_with_its_matrix_and_in_tiles(torch, n, rows):
    given = [numbers(n, 32, scale=3.0, seed=seed) for seed in (1, 2, 3)]
    q, k, v = (cuda.to_device(x) for x in given)
    scores, shares, apart, tiled = room(n, n), room(n, n), room(n, 32), room(n, 32)
    block = (32, rows)
    moved(
        (ATTENTION_SCORES, q, k, scores, block),
        (SOFTMAX_ROWS, scores, shares),
        (ATTENTION_PRODUCT, shares, v, apart, block),
    )
    in_tiles = moved((ATTENTION_TILED, q, k, v, tiled, block))
    assert in_tiles == 128 * n * (2 + 2 * n // rows)  # queries and results, and keys and values
    for got in (apart, tiled):
        np.testing.assert_allclose(got.copy_to_host(), attended(torch, given), rtol=1e-4, atol=1e-5)

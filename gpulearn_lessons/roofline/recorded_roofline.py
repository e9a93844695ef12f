"""Notebook 02: a GPU's own roofline, and the work of a training step as points below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.perf.matmul_times import float32_products
from gpulearn.perf.measured_roof import RoofPoint, memory_bandwidth, peak_rate
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.perf.roofline import Roof, roof
from gpulearn.perf.timing import fastest
from gpulearn.plot.recorders.loading import gpu_rows
from gpulearn.plot.recorders.measuring import agree, timed, torch_on

N = 8192  # a matrix of 256 MB: several times a cache
BATCHES = (1, 32, 1024)
CHECKED = 8  # rows of a result, held against NumPy
TOLERANCE = 1e-4  # of the largest element; float32, sums of thousands of products


def record_roofline(
    n: int = N,
    batches: Sequence[int] = BATCHES,
    numbers: int = 2**27,
    sizes: Sequence[int] = (4096, 8192),
    seconds: float = 0.3,
) -> Recording:
    """Time the update, softmax and layer of notebook 02 on n × n float32, TF32 off.

    `batches` are the rows of the layer's input; a copy of so many `numbers` gives the bandwidth,
    products of these `sizes` the peak; about so many `seconds` go to each kind of work.

    Returns:
        A row each for "peak" (`rate` in operations per second) and "bandwidth" (`rate` in bytes
        per second), and rows with `work`, `n`, `flops`, `bytes` and `seconds`, of the fastest run.
    """
    require.package("torch", "Recording")
    return recorded_here("roofline", _rows(n, batches, numbers, sizes, seconds), torch_on())


def _rows(
    n: int, batches: Sequence[int], numbers: int, sizes: Sequence[int], seconds: float
) -> Iterator[dict[str, Any]]:
    torch, on = require.package("torch", "Recording"), torch_on()
    yield {"work": "peak", "rate": peak_rate(on, sizes)}
    yield {"work": "bandwidth", "rate": memory_bandwidth(numbers, on)}

    def row(
        work: str, flops: int, moved: int, call: Callable[[], Any], exact: Callable[[], Any]
    ) -> dict[str, Any]:
        def prepare() -> Callable[[], Any]:
            expected = exact()  # before the call, which may change what it is computed from
            agree(work, _host(call()), expected, TOLERANCE)
            return call

        fields = {"work": work, "n": n, "flops": flops, "bytes": moved}
        return timed(fields, prepare, lambda call: fastest(call, seconds)[0])

    generator = torch.Generator(on).manual_seed(2)
    weights, gradient = (torch.randn(n, n, device=on, generator=generator) for _ in range(2))
    with float32_products(torch, tf32=False):
        update = partial(weights.add_, gradient, alpha=-1e-3)
        yield row(
            "update",
            2 * n * n,
            12 * n * n,
            update,
            lambda: _host(weights) - 1e-3 * _host(gradient),
        )
        softmax = partial(torch.softmax, gradient, 1, out=torch.empty_like(gradient))
        yield row("softmax", 5 * n * n, 8 * n * n, softmax, lambda: _shares(_host(gradient)))
        for b in batches:
            x = torch.randn(b, n, device=on, generator=generator)
            layer = partial(torch.matmul, x, weights, out=torch.empty_like(x))
            product = partial(lambda x: _host(x) @ weights.double().cpu().numpy(), x)
            yield row(f"layer, b = {b}", 2 * b * n * n, 4 * (n * n + 2 * b * n), layer, product)


def _host(tensor: Any) -> np.ndarray[Any, Any]:
    return tensor[:CHECKED].double().cpu().numpy()  # type: ignore[no-any-return]


def _shares(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    powers = np.exp(scores)
    return powers / powers.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def gpu_points() -> tuple[Roof, list[RoofPoint]]:
    """A GPU's roofline and the work of notebook 02 as points below it, n = 8192.

    Measured where there is a GPU that torch can use, else recorded. Where there is neither, the
    roof of a T4 by its data sheet, and no points.
    """
    times = gpu_rows("roofline", record_roofline, torch_on)
    rates = {row["work"]: row["rate"] for row in times.rows if "rate" in row} if times else {}
    if times is None or not {"peak", "bandwidth"} <= set(rates):
        return roof("T4"), []
    origin = times.provenance
    points = [
        RoofPoint(row["work"], row["flops"], row["bytes"], row["seconds"], origin)
        for row in times.rows
        if "seconds" in row
    ]
    return Roof(origin.where, rates["peak"], rates["bandwidth"], origin), points

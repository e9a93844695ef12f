"""Square products by size: torch's, which notebook 01 shows, and the ladder of notebook 06."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.perf.matmul_times import (
    float32_products,
    live_times,
    random_matrix,
    runs_here,
)
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.perf.series import Series
from gpulearn.plot.recorders.measuring import agree, kernels_on, timed
from gpulearn_lessons.matmul.ladder import LADDER, Rung
from gpulearn_lessons.matmul.rung_rates import LIBRARY

__all__ = ["record_ladder", "record_matmul"]

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
DTYPES = ("float64", "float32", "tf32", "bfloat16", "float16")
LONGEST = 1.0  # seconds of one product: a rung that would take longer is left out
WRONG = 1e-5  # of the largest element; a float32 sum of 8,192 products is off by some 10⁻⁶


def record_matmul(
    sizes: Sequence[int] = SIZES, dtypes: Sequence[str] = DTYPES, on: str = "cuda"
) -> Recording:
    """Time n × n products by arithmetic, without and with copies of the matrices.

    Args:
        sizes: the n, ascending.
        dtypes: arithmetics; those that the GPU has no units for are left out.
        on: "cuda", or "cpu" to rehearse, without copies.

    Returns:
        Rows with `n`, `dtype`, `copies` (true or false) and `seconds`, of the fastest run, as
        where a notebook measures on the spot.
    """

    def rows() -> Iterator[dict[str, Any]]:
        for n in require.ascending("sizes", sizes):
            for dtype in (d for d in dtypes if on == "cpu" or runs_here(d)):
                for copies in (False, True) if on == "cuda" else (False,):
                    fields = {"n": n, "dtype": dtype, "copies": copies}
                    yield timed(fields, partial(_by_torch, n, dtype, copies, on), _only_time)

    return recorded_here("matmul", rows(), on)


def _by_torch(n: int, dtype: str, copies: bool, on: str) -> Callable[[], Series]:
    return partial(live_times, [n], dtype, copies, on, seconds=0.05)


def _only_time(measure: Callable[[], Series]) -> float:
    (seconds,) = measure().seconds
    return seconds


def record_ladder(sizes: Sequence[int] = (512, 1024, 2048, 4096, 8192)) -> Recording:
    """Time the library and every rung in float32, by size, each if its product is right.

    Args:
        sizes: rows and columns of the matrices, ascending and even.

    Returns:
        Rows with `n`, `rung`, `dtype` and `seconds`; or `error` where a product is wrong or a
        launch fails; or `left_out`.
    """
    return recorded_here("ladder", _ladder_rows(sizes), kernels_on())


def _ladder_rows(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    torch = require.package("torch", "Recording the ladder")
    last: dict[str, tuple[int, float]] = {}
    for n in require.ascending("sizes", sizes):
        a, b = (random_matrix(n, seed) for seed in (1, 2))
        x, y = (torch.from_numpy(matrix).to(kernels_on()) for matrix in (a, b))
        exact = (x.double() @ y.double()).cpu().numpy()

        def library(x: Any = x, y: Any = y, exact: Any = exact) -> Callable[[], object]:
            agree(f"{LIBRARY}, n = {len(x)}", (x @ y).cpu().numpy(), exact, WRONG)
            return lambda: x @ y

        with float32_products(torch, tf32=False):
            row = timed({"n": n, "rung": LIBRARY, "dtype": "float32"}, library)
        yield row
        factors = cuda.to_device(a), cuda.to_device(b)
        for rung in LADDER.values():
            row = {"n": n, "rung": rung.name, "dtype": "float32"}
            before, took = last.get(rung.name, (n, 0.0))
            if (guess := took * (n / before) ** 3) > LONGEST:
                yield row | {"left_out": f"one product would take about {guess:.1f} s"}
                continue
            row = timed(row, partial(_product, rung, factors, exact))
            if "seconds" in row:
                last[rung.name] = n, row["seconds"]
            yield row


def _product(rung: Rung, factors: tuple[Any, Any], exact: Any) -> Callable[[], object]:
    """A rung's launch, once its product is right."""
    c = cuda.to_device(np.full(exact.shape, np.nan, np.float32))
    rung.launch(*factors, c)
    agree(f"{rung.name}, n = {len(exact)}", c, exact, WRONG)
    return partial(rung.launch, *factors, c)

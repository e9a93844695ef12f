"""How long a square matrix product takes: live on this machine, recorded, or modeled.

All products are n × n of normally distributed numbers, never of zeros: a GPU draws less
power on zeros, clocks higher, and flatters itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.kernels.matmul import matmul_flops, matmul_loops
from gpulearn.perf import gpus, recordings, timing
from gpulearn.perf.roofline import matmul_seconds
from gpulearn.perf.series import Provenance, Series
from simt.device import selection

CONTENDERS = ("loops", "numpy", "torch")


def cpu_times(
    sizes: Sequence[int], how: str = "torch", dtype: str = "float32", seconds: float = 0.2
) -> Series:
    """Time n × n products on this CPU: the fastest run on one of torch's threads or on all.

    Args:
        sizes: the n to time.
        how: "loops" (three Python loops), "numpy" or "torch".
        dtype: "float64", "float32" or, with torch, "bfloat16".
        seconds: the time to spend, about, on the repeats of one size in each of two rounds.
    """
    require.choice("way to multiply", how, CONTENDERS)
    if how == "torch":
        return live_times(sizes, dtype, on="cpu", seconds=seconds)
    require.choice(f"dtype for {how}", dtype, ("float32", "float64"))
    multiply: Any = matmul_loops if how == "loops" else np.matmul

    def prepare(n: int) -> Callable[[], object]:
        return partial(multiply, *(random_matrix(n, seed).astype(dtype) for seed in (1, 2)))

    return _timed(f"{how}, {dtype}", sizes, prepare, seconds, "cpu")


def gpu_times(
    sizes: Sequence[int], dtype: str = "float32", copies: bool = False, model: str = "T4"
) -> Series:
    """Times of n × n products on a GPU: live if there is one, else recorded, else modeled.

    Args:
        sizes: the n to time. A recording serves only if it has all of them.
        dtype: "float64", "float32", "tf32", "bfloat16" or "float16".
        copies: whether to count copying A and B to the GPU and C back.
        model: the GPU to model, by `roofline.matmul_seconds`, if there is neither a GPU here nor a
            recording. The default is the one that Colab lends.
    """
    require.choice("dtype", dtype, gpus.BYTES)
    sizes, name = require.ascending("sizes", sizes), f"GPU, {dtype}{', with copies' * copies}"
    if runs_here(dtype):
        return live_times(sizes, dtype, copies, name=name)
    if recording := recordings.find("matmul"):
        seconds = {
            row["n"]: row["seconds"]
            for row in recording.rows
            if row["dtype"] == dtype and row["copies"] == copies and "seconds" in row
        }
        if set(sizes) <= set(seconds):
            return Series(name, sizes, tuple(seconds[n] for n in sizes), recording.provenance)
    best = tuple(matmul_seconds(n, model, dtype, copies) for n in sizes)
    return Series(name, sizes, best, Provenance("modeled", f"the {model}'s roofline"))


def runs_here(dtype: str) -> bool:
    """Whether there is a GPU here with this arithmetic; TF32 and bfloat16 came with Ampere."""
    here = selection.current().gpus
    if not here or (dtype in ("tf32", "bfloat16") and here[0].capability < (8, 0)):
        return False
    require.package("torch", "Timing a GPU")
    return selection.torch_gpu()


def live_times(
    sizes: Sequence[int],
    dtype: str = "float32",
    copies: bool = False,
    on: str = "cuda",
    seconds: float = 0.3,
    name: str = "",
) -> Series:
    """Time n × n products with torch on "cuda" or "cpu".

    With `copies`, A and B start in the host's memory and C ends there.
    """
    torch = require.package("torch", "Timing matrix products")
    known = [kind for kind in gpus.BYTES if on == "cuda" or kind != "tf32"]
    require.choice(f"dtype for torch on {on}", dtype, known)
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)

    def prepare(n: int) -> Callable[[], object]:
        a, b = (torch.from_numpy(random_matrix(n, seed)).to(kind) for seed in (1, 2))
        if copies:
            c = torch.empty_like(a)
            return lambda: c.copy_(a.to(on) @ b.to(on))
        x, y = a.to(on), b.to(on)
        return lambda: x @ y

    with float32_products(torch, dtype == "tf32"):
        return _timed(name or f"torch, {dtype}", sizes, prepare, seconds, on)


def one_thread_and_all(on: str = "cpu") -> Iterator[int]:
    """Let torch use one thread of the CPU, then all of them; on "cuda" there is one round.

    All are usually faster, and less likely to be undisturbed by other programs.

    >>> max(one_thread_and_all()) >= 1
    True
    """
    torch = require.package("torch", "Timing")
    every = torch.get_num_threads()
    try:
        for threads in sorted({1, every}) if on == "cpu" else [every]:
            torch.set_num_threads(threads)
            yield threads
    finally:
        torch.set_num_threads(every)


def _timed(
    name: str, sizes: Sequence[int], prepare: Callable[[int], Callable[[], object]],
    seconds: float, on: str,
) -> Series:  # fmt: skip
    """Time what `prepare` makes for each size, once in each round; the fastest run counts.

    A curve is read from point to point, and other programs slow down some points more than others:
    where they leave no core free, threads that wait for each other wait for them too.
    """
    sizes, torch = require.ascending("sizes", sizes), require.package("torch", "Timing")
    where = selection.cpu_name() if on == "cpu" else torch.cuda.get_device_name()
    rounds = one_thread_and_all(on)
    runs = [[timing.fastest(prepare(n), seconds) for n in sizes] for _ in rounds]
    best = tuple(min(time for time, _ in of_one_size) for of_one_size in zip(*runs, strict=True))
    # one disturbed measurement labels them all
    busy = any(origin.busy for one_round in runs for _, origin in one_round)
    return Series(name, sizes, best, Provenance("measured", where, busy=busy))


def rates(series: Series) -> tuple[float, ...]:
    """Operations per second of n × n products: 2·n³ / seconds."""
    require.all_of(
        Series, [series], "series", "what gl.perf.cpu_times and gl.perf.gpu_times return"
    )
    pairs = zip(series.sizes, series.seconds, strict=True)
    return tuple(matmul_flops(n, n, n) / seconds for n, seconds in pairs)


@contextmanager
def float32_products(torch: Any, tf32: bool) -> Iterator[None]:
    """Let torch multiply float32 matrices in TF32, or keep it from doing so."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def random_matrix(n: int, seed: int) -> np.ndarray:
    """A float32 matrix (n, n) of normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal((n, n), dtype=np.float32)

"""How long a square matrix product takes: live on this machine, recorded, or modelled.

All products are n × n of normally distributed numbers, never of zeros: a GPU draws less
power on zeros, clocks higher, and flatters itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.kernels.matmul import matmul_flops, matmul_loops
from gpulearn.perf import gpus, recordings, roofline, timing
from gpulearn.perf.series import Provenance, Series
from gpulearn.require import shown
from simt.device import selection

__all__ = [
    "CONTENDERS",
    "COPIES",
    "cpu_times",
    "float32_products",
    "gpu_times",
    "live_times",
    "modelled_times",
    "one_thread_and_all",
    "peak_rate",
    "prepared_product",
    "random_matrix",
    "rates",
    "runs_here",
]

CONTENDERS = ("loops", "numpy", "torch")

COPIES = ("none", "pageable", "pinned")


def cpu_times(
    sizes: Sequence[int], how: str = "torch", dtype: str = "float32", seconds: float = 0.2
) -> Series:
    """Time n × n products on this CPU: the fastest run on one of torch's threads or on all.

    Args:
        sizes: the n to time.
        how: "loops" (three Python loops), "numpy" or "torch".
        dtype: "float64", "float32" or, with torch, "bfloat16".
        seconds: the time to spend, about, on the repeats of one size in each of two rounds.

    Raises:
        BadInput: a size, `how` or `dtype` is not known.
        MissingPackage: torch, which does the timing, is not installed.
    """
    require.choice("way to multiply", how, CONTENDERS)
    if how == "torch":
        series = live_times(sizes, dtype, on="cpu", seconds=seconds)
    else:
        require.choice(f"dtype for {how}", dtype, ("float32", "float64"))
        multiply = matmul_loops if how == "loops" else np.matmul
        series = _timed(
            sizes,
            lambda n: _call(multiply, *(random_matrix(n, seed).astype(dtype) for seed in (1, 2))),
            selection.cpu_name(),
            seconds,
            one_thread_and_all(),
        )
    return replace(series, name=f"{how}, {dtype}")


def gpu_times(
    sizes: Sequence[int],
    dtype: str = "float32",
    copies: bool | str = False,
    model: str = "T4",
) -> Series:
    """Times of n × n products on a GPU: live if there is one, else recorded, else modelled.

    Args:
        sizes: the n to time. A recording serves only if it has all of them.
        dtype: "float64", "float32", "tf32", "bfloat16" or "float16".
        copies: whether to count copying A and B to the GPU and C back; True and "pageable"
            from the host's ordinary memory, "pinned" from memory that the GPU reads itself. A
            model, which knows the link alone, gives both the same time.
        model: the GPU to model if there is neither a GPU here nor a recording. The default is
            the one that Colab lends.

    Raises:
        BadInput: the dtype, the way to copy or the GPU's name is not known.
    """
    require.choice("dtype", dtype, gpus.BYTES)
    sizes = require.ascending("sizes", sizes)
    kind = _way(copies)
    if runs_here(dtype):
        return live_times(sizes, dtype, copies=kind, on="cuda", name=_gpu_name(dtype, kind))
    recorded = _recorded(sizes, dtype, kind, _gpu_name(dtype, kind))
    return recorded or modelled_times(sizes, dtype, copies, model)


def modelled_times(
    sizes: Sequence[int], dtype: str = "float32", copies: bool | str = False, model: str = "T4"
) -> Series:
    """What n × n products take on a named GPU by `roofline.matmul_seconds`.

    Raises:
        BadInput: the sizes, the dtype or the GPU is not known.
    """
    sizes, kind = require.ascending("sizes", sizes), _way(copies)
    seconds = [
        roofline.matmul_seconds(n, n, n, gpu=model, dtype=dtype, copies=kind != "none")
        for n in sizes
    ]
    where = Provenance("modelled", f"the {model}'s roofline")
    return Series(_gpu_name(dtype, kind), sizes, tuple(seconds), where)


def _way(copies: bool | str) -> str:
    """What a recording calls this way of copying."""
    if isinstance(copies, str):
        return require.choice("way to copy", copies, COPIES)
    return "pageable" if copies else "none"


def _gpu_name(dtype: str, copies: str) -> str:
    said = {"none": "", "pageable": ", with copies", "pinned": ", with copies, pinned"}
    return f"GPU, {dtype}{said[copies]}"


def runs_here(dtype: str) -> bool:
    """Whether there is a GPU here with this arithmetic; TF32 and bfloat16 came with Ampere."""
    gpus = selection.current().gpus
    if not gpus or (dtype in ("tf32", "bfloat16") and gpus[0].capability < (8, 0)):
        return False
    require.package("torch", "Timing a GPU")
    return selection.torch_gpu()


def _recorded(sizes: Sequence[int], dtype: str, copies: str, name: str) -> Series | None:
    """The recorded times of exactly these sizes, or None."""
    recording = recordings.find("matmul")
    if recording is None:
        return None
    seconds = {row["n"]: row["seconds"] for row in recording.where(dtype=dtype, copies=copies)}
    if not set(sizes) <= set(seconds):
        return None
    return Series(name, tuple(sizes), tuple(seconds[n] for n in sizes), recording.provenance)


def live_times(
    sizes: Sequence[int],
    dtype: str = "float32",
    copies: str = "none",
    on: str = "cuda",
    seconds: float = 0.3,
    name: str = "",
) -> Series:
    """Time n × n products with torch on "cuda" or "cpu".

    `copies` is "none", "pageable" or "pinned": whether A and B start in the host's memory and
    C ends there, and of which kind that memory is.

    Raises:
        BadInput: an argument is none of these.
    """
    torch = require.package("torch", "Timing matrix products")
    known = [name for name in gpus.BYTES if on == "cuda" or name != "tf32"]
    require.choice(f"dtype for torch on {on}", dtype, known)
    require.choice("way to copy", copies, COPIES)
    where = selection.cpu_name() if on == "cpu" else torch.cuda.get_device_name()

    def prepare(n: int) -> Callable[[], object]:
        a, b = (random_matrix(n, seed) for seed in (1, 2))
        return prepared_product(a, b, dtype, copies, on)

    with float32_products(torch, dtype == "tf32"):
        rounds = one_thread_and_all() if on == "cpu" else (1,)
        found = _timed(sizes, prepare, where, seconds, rounds)
    return replace(found, name=name or f"torch, {dtype}")


def peak_rate(n: int = 2048) -> float:
    """The most operations per second that this CPU shows in a large float32 product.

    The fastest of all repeats, with NumPy and with torch, on one thread and on all, of an n × n
    product: what the machine can do when nothing is in its way.
    """
    flops = matmul_flops(n, n, n)
    torch = require.package("torch", "gl.perf.peak_rate")
    a, b = (random_matrix(n, seed) for seed in (1, 2))
    by_torch = _call(torch.matmul, torch.from_numpy(a), torch.from_numpy(b))
    times = list(timing.measure(_call(np.matmul, a, b)).times)
    for _ in one_thread_and_all():
        times += timing.measure(by_torch).times
    return flops / min(times)


def one_thread_and_all() -> Iterator[int]:
    """Let torch use one thread, then all of them: while other programs run, one may be faster.

    >>> max(one_thread_and_all()) >= 1
    True
    """
    torch = require.package("torch", "Timing")
    every = torch.get_num_threads()
    try:
        for threads in sorted({1, every}):
            torch.set_num_threads(threads)
            yield threads
    finally:
        torch.set_num_threads(every)


def _call(multiply: Callable[[Any, Any], object], a: Any, b: Any) -> Callable[[], object]:
    return lambda: multiply(a, b)


def _timed(
    sizes: Sequence[int],
    prepare: Callable[[int], Callable[[], object]],
    where: str,
    seconds: float,
    rounds: Iterable[int],
) -> Series:
    """Time what `prepare` makes for each size, once in each round; the fastest run counts.

    A curve is read from point to point, and other programs slow down some points more than others:
    where they leave no core free, threads that wait for each other wait for them too.
    """
    sizes = require.ascending("sizes", sizes)
    runs = [[timing.fastest(prepare(n), seconds) for n in sizes] for _ in rounds]
    # one disturbed measurement labels them all
    busy = any(origin.busy for one_round in runs for _, origin in one_round)
    best = tuple(min(taken for taken, _ in of_one_size) for of_one_size in zip(*runs, strict=True))
    return Series(where, sizes, best, Provenance("measured", where, busy=busy))


def rates(series: Series) -> tuple[float, ...]:
    """Operations per second of n × n products: 2·n³ / seconds.

    Raises:
        BadInput: `series` is no series.
    """
    if not isinstance(series, Series):
        raise BadInput(
            f"{shown(series)} is no series: give what gl.perf.cpu_times and gl.perf.gpu_times "
            f"return."
        )
    pairs = zip(series.sizes, series.seconds, strict=True)
    return tuple(matmul_flops(n, n, n) / seconds for n, seconds in pairs)


def prepared_product(
    a: np.ndarray, b: np.ndarray, dtype: str, copies: str, on: str
) -> Callable[[], Any]:
    """The call that multiplies two float32 matrices of the host; it returns torch's result.

    The factors are rounded to `dtype` and put where `copies` says before; for TF32 call it
    within `float32_products`.
    """
    torch = require.package("torch", "Timing matrix products")
    kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    host = [torch.from_numpy(m).to(kind) for m in (a, b)]
    if copies == "none":
        x, y = (m.to(on) for m in host)
        return lambda: x @ y
    x, y = (m.pin_memory() for m in host) if copies == "pinned" else host
    z = torch.empty_like(x)
    if copies == "pinned":
        z = z.pin_memory()
    return lambda: z.copy_(x.to(on) @ y.to(on))


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

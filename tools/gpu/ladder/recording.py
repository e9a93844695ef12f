"""The ladder of notebook 06 on a GPU: every rung and the library by size, and every idea.

A kernel is timed only if its product of random numbers is right, held against torch in float64.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.perf import timing
from gpulearn.perf.matmul_times import float32_products, random_matrix
from gpulearn.perf.recorders.measuring import fault
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn_lessons.matmul.ladder import LADDER, Rung
from gpulearn_lessons.matmul.rung_rates import LIBRARY
from tools.gpu.ladder.ideas import Idea, ideas
from tools.gpu.ladder.resources import machine_code, resources

__all__ = ["SIZES", "record_ideas", "record_ladder"]

SIZES = (512, 1024, 2048, 4096, 8192)
IDEAS_SIZE = 4096
LIBRARY_DTYPES = ("bfloat16", "tf32", "float32")  # the one that rungs are compared with comes last
LONGEST = 1.0  # seconds of one product: a rung that would take longer is left out
# the error of a float32 sum of 8,192 products is some 10⁻⁶ of the result
WRONG = 1e-5
Row = dict[str, Any]


def record_ladder(
    sizes: Sequence[int] = SIZES, seconds: float = 0.2, longest: float = LONGEST
) -> Recording:
    """Time every rung in float32, and the library in float32, TF32 and bfloat16, by size.

    Args:
        sizes: rows and columns of the matrices, ascending and even.
        seconds: the most time for the repeats of one measurement.
        longest: leave out a rung whose product would take longer, by its last size's rate.

    Returns:
        "ladder": rows of `n`, `rung`, `dtype` and `seconds`, `spread` (between the quartiles),
        `repeats`, `relative_error`; or `error` where a product is wrong or a launch fails; or
        `left_out`.
    """
    on = "cuda" if _torch().cuda.is_available() else "cpu"
    return recorded_here("ladder", _ladder_rows(sizes, seconds, longest, on), on)


def record_ideas(n: int = IDEAS_SIZE, seconds: float = 0.3) -> Recording:
    """Time every idea for the top rung, and the library in float32, at one size.

    Args:
        n: rows and columns of the matrices, even.
        seconds: the most time for the repeats of one measurement.

    Returns:
        "ladder-ideas": rows of `n`, `idea`, `after`, `what`, `why`, `threads`, and what
        `record_ladder` has; where numba tells them, also `registers`, `shared_bytes` and
        `local_bytes` of a thread or block, and `blocks` and `warps` that a multiprocessor holds;
        and what `machine_code` counts.
    """
    on = "cuda" if _torch().cuda.is_available() else "cpu"
    return recorded_here("ladder-ideas", _idea_rows(ideas(), n, seconds, on), on)


@dataclass
class Products:
    """A and B of random numbers on the device, and A·B in float64 by torch."""

    n: int
    on: str
    seconds: float
    a: Any = field(init=False)
    b: Any = field(init=False)

    def __post_init__(self) -> None:
        torch = _torch()
        host = [random_matrix(self.n, seed) for seed in (1, 2)]
        self.a, self.b = (cuda.to_device(matrix) for matrix in host)
        self.torch_a, self.torch_b = (torch.from_numpy(matrix).to(self.on) for matrix in host)
        self.exact = self.torch_a.double() @ self.torch_b.double()

    def by_rung(self, rung: Rung) -> Row:
        """Time a rung's product if it is right."""
        c = cuda.to_device(np.full((self.n, self.n), np.nan, np.float32))

        def result() -> Any:
            if self.on == "cuda":
                return _torch().as_tensor(c, device="cuda")
            return _torch().from_numpy(c.copy_to_host())

        return self._timed(partial(rung.launch, self.a, self.b, c), result, WRONG)

    def by_library(self, dtype: str) -> Row:
        """Time torch's product in one of `LIBRARY_DTYPES`."""
        torch = _torch()
        kind = torch.bfloat16 if dtype == "bfloat16" else torch.float32
        a, b = self.torch_a.to(kind), self.torch_b.to(kind)
        c = torch.empty_like(a)
        with float32_products(torch, dtype == "tf32"):
            # a bfloat16 has 8 bits, a TF32 11: an error of 10⁻² would be none of rounding
            wrong = WRONG if dtype == "float32" else 1e-2
            return self._timed(lambda: torch.matmul(a, b, out=c), lambda: c, wrong)

    def _timed(self, launch: Callable[[], object], result: Callable[[], Any], wrong: float) -> Row:
        try:
            launch()
            timing.now()  # waits for the kernel, whoever launched it
            off = float((result().double() - self.exact).norm() / self.exact.norm())
            if not off < wrong:  # NaN is wrong
                return {"error": f"wrong: its relative error is {off:.1e}"}
            clock = "events" if self.on == "cuda" else "host"
            found = timing.measure(launch, seconds=self.seconds, clock=clock)
        except Exception as error:
            return fault(error)
        return {
            "seconds": found.median,
            "spread": found.iqr,
            "repeats": found.repeats,
            "relative_error": off,
        }


def _ladder_rows(sizes: Sequence[int], seconds: float, longest: float, on: str) -> Iterator[Row]:
    last: dict[str, tuple[int, float]] = {}
    for n in require.ascending("sizes", sizes):
        products = Products(n, on, seconds)
        for dtype in LIBRARY_DTYPES:
            yield {"n": n, "rung": LIBRARY, "dtype": dtype} | products.by_library(dtype)
        for rung in LADDER.values():
            row: Row = {"n": n, "rung": rung.name, "dtype": "float32"}
            if rung.name in last and (guess := _guess(*last[rung.name], n)) > longest:
                yield row | {"left_out": f"one product would take about {guess:.1f} s"}
                continue
            row |= products.by_rung(rung)
            if "seconds" in row:
                last[rung.name] = n, row["seconds"]
            yield row


def _guess(n: int, seconds: float, larger: int) -> float:
    """Seconds at a larger size, at the same rate."""
    return seconds * (larger / n) ** 3


def _idea_rows(tried: Mapping[str, Idea], n: int, seconds: float, on: str) -> Iterator[Row]:
    products = Products(n, on, seconds)
    yield {"n": n, "idea": LIBRARY, "dtype": "float32"} | products.by_library("float32")
    for idea in tried.values():
        rung = idea.rung
        row: Row = {"n": n, "idea": idea.name, "dtype": "float32", "after": idea.after}
        row |= {"what": idea.what, "why": idea.why, "threads": rung.block[0] * rung.block[1]}
        row |= products.by_rung(rung)
        for facts in (partial(resources, threads=row["threads"]), machine_code):
            with contextlib.suppress(Exception):  # another numba costs columns, not the row
                row |= facts(rung.kernel)
        yield row


def _torch() -> Any:
    return require.package("torch", "Recording the ladder")

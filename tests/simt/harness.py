"""How the tests of the machine launch a kernel and point at its lines."""

import inspect
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

import simt
from simt import cuda


def plain(fn: Any) -> Callable[..., Any]:
    return getattr(fn, "py_func", fn)


def line(fn: Any, mark: str) -> int:
    """The line of the file on which `fn`'s source holds `mark`: exactly one must."""
    lines, first = inspect.getsourcelines(plain(fn))
    start = next(k for k, text in enumerate(lines) if text.lstrip().startswith("def ")) + 1
    found = [first + k for k, text in enumerate(lines) if k >= start and mark in text]
    assert len(found) == 1, f"{mark!r} stands on {len(found)} lines"
    return found[0]


@lru_cache(maxsize=8)
def kernel_of(fn: Any) -> Any:
    """A kernel, of which Numba is asked once, however often it is launched."""
    return fn if hasattr(fn, "py_func") else cuda.jit(fn)


def to_device(args: tuple[Any, ...]) -> list[Any]:
    return [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]


def xray(fn: Any, grid: Any, block: Any, *args: Any, shared: int = 0) -> Any:
    """The report of a launch with everything on; arrays end as the kernel left them."""
    given = to_device(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = simt.xray(kernel_of(fn))[grid, block, 0, shared](*given)
    _copy_back(args, given)
    return report


def launch(
    fn: Any, grid: Any, block: Any, *args: Any, shared: int = 0, checked: bool = True
) -> None:
    """A launch as a learner writes it; a warning is an error, as everywhere in the tests."""
    given = to_device(args)
    with nullcontext() if checked else simt.unchecked():
        kernel_of(fn)[grid, block, 0, shared](*given)
    _copy_back(args, given)


def _copy_back(args: tuple[Any, ...], given: list[Any]) -> None:
    for array, device in zip(args, given, strict=True):
        if isinstance(array, np.ndarray):
            array[...] = device.copy_to_host()


def findings(report: Any, kind: str) -> list[Any]:
    return [f for f in report.findings if f.kind == kind]


def only(report: Any, kind: str) -> Any:
    """The one finding of `kind`; anything else among the errors is a failure."""
    errors = [f for f in report.findings if f.severity == "error" or f.kind == kind]
    assert [f.kind for f in errors] == [kind], [str(f) for f in report.findings]
    return errors[0]


def threads(finding: Any) -> list[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Who a finding names: (block, thread) pairs."""
    return [(tuple(t["block"]), tuple(t["thread"])) for t in finding.threads]

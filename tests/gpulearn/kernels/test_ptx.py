"""Every kernel of the package compiles to PTX, as it would on a machine with a GPU.

The types come from the tests beside this file: each `test_*.py` may hold
`SIGNATURES = {kernel: "void(float32[::1], int64)"}`, and each kernel must be in one.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from gpulearn import cuda
from simt.numba_ptx.codegen import compile_to_ptx

from .found import is_kernel, kernels_of, package_kernels

HERE = Path(__file__)
WIDTH = 33


def test_module(path: Path) -> ModuleType:
    name = f"tests.kernels.{path.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        made = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


test_module.__test__ = False  # type: ignore[attr-defined]


@functools.cache
def signatures() -> dict[int, str]:
    """The signatures that the tests state, by the identity of the kernel."""
    found: dict[int, str] = {}
    for path in sorted(HERE.parent.glob("test_*.py")):
        stated = SIGNATURES if path.name == HERE.name else None
        if stated is None:
            stated = getattr(test_module(path), "SIGNATURES", {})
        for kernel, signature in stated.items():
            assert is_kernel(kernel), f"{path.name}: {kernel} in SIGNATURES is no kernel"
            assert id(kernel) not in found, f"{kernel.__name__} has two signatures"
            found[id(kernel)] = signature
    return found


# --- two kernels of this file's own: what compiles, with all that a kernel may refer to


@cuda.jit(device=True)
def weighted(x: Any, y: Any) -> Any:
    return x + np.float32(0.5) * y


@cuda.jit(device=True)
def twice_weighted(x: Any, y: Any) -> Any:
    return weighted(weighted(x, y), y)


@cuda.jit
def neighbours(x: Any, out: Any) -> None:
    tile = cuda.shared.array(WIDTH, numba.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if t > 0 and i < out.size:
        out[i] = twice_weighted(tile[t - 1], tile[t])


def scaled_by(factor: float) -> Any:
    @cuda.jit
    def total(x: Any, out: Any, n: int) -> None:
        part = np.float32(0)
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            part += factor * x[i]
        for step in (16, 8, 4, 2, 1):
            part += cuda.shfl_down_sync(0xFFFFFFFF, part, step)
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, part)

    return total


total = scaled_by(0.5)

SIGNATURES = {
    neighbours: "void(float32[::1], float32[::1])",
    total: "void(float32[::1], float32[::1], int64)",
}

KERNELS = package_kernels() | kernels_of(sys.modules[__name__])


@pytest.mark.parametrize("name", KERNELS)
def test_the_types_of_every_kernel_are_stated(name: str) -> None:
    known = signatures()
    assert id(KERNELS[name]) in known, f"{name} is in no SIGNATURES of tests/kernels/test_*.py"


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_compiles_to_ptx(name: str) -> None:
    kernel = KERNELS[name]
    text = compile_to_ptx(kernel, signatures()[id(kernel)])
    assert ".visible .entry" in text


@pytest.mark.usefixtures("_compiler")
def test_the_ptx_holds_what_the_kernel_says() -> None:
    text = compile_to_ptx(neighbours, SIGNATURES[neighbours])
    assert ".shared" in text
    assert re.search(r"\bbar(rier)?\.", text)
    text = compile_to_ptx(total, SIGNATURES[total])
    assert "shfl.sync.down" in text
    assert re.search(r"\b(atom|red)\.", text)


@pytest.mark.usefixtures("_compiler")
def test_types_that_do_not_fit_are_refused() -> None:
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError):
        compile_to_ptx(neighbours, "void(float32[:, ::1], float32[::1])")


def test_the_sample_kernels_are_found_and_their_device_functions_are_not() -> None:
    own = kernels_of(sys.modules[__name__])
    assert {name.rpartition(".")[2] for name in own} == {"neighbours", "total"}

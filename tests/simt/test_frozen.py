"""What a kernel's names stand for is fixed when it is compiled, as Numba fixes it."""

import linecache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")

NUMBER = 1
TABLE = np.arange(4.0)
PAIR = (1, np.arange(4.0))
MODULE = ModuleType("somewhere")


@pytest.fixture(autouse=True)
def start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins with the same globals."""
    monkeypatch.setitem(globals(), "NUMBER", 1)
    monkeypatch.setitem(globals(), "TABLE", np.arange(4.0))
    monkeypatch.setitem(globals(), "PAIR", (1, np.arange(4.0)))
    MODULE.number = 1


def change() -> None:
    global NUMBER, PAIR
    NUMBER = 100
    TABLE[:] = 100
    PAIR[1][:] = 100
    PAIR = (100, PAIR[1])
    MODULE.number = 100


def number(out):
    out[0] = NUMBER


def table(out):
    out[0] = TABLE[1]


def constant(out):
    out[0] = cuda.const.array_like(TABLE)[1]


def pair(out):
    out[0] = PAIR[0]


def module(out):
    out[0] = MODULE.number


def of_number():
    @cuda.jit(device=True)
    def inner():
        return NUMBER

    return inner


def through_a_function():
    inner = of_number()

    def kernel(out):
        out[0] = inner()

    return kernel


def through_a_module():
    home = ModuleType("home")
    home.inner = of_number()

    def kernel(out):
        out[0] = home.inner()

    return kernel


def through_a_tuple():
    inner = of_number()
    functions = ((inner, 2), inner)

    def kernel(out):
        out[0] = (functions[0][0]() + functions[1]()) / 2

    return kernel


def closure():
    inside = 1

    def kernel(out):
        out[0] = inside

    def later():
        nonlocal inside
        inside = 100

    kernel.later = later
    return kernel


MAKERS = {
    "a number": lambda: number,
    "an array": lambda: table,
    "const.array_like": lambda: constant,
    "a tuple": lambda: pair,
    "a module's": lambda: module,
    "a device function's": through_a_function,
    "a device function's in a module": through_a_module,
    "a device function's in a tuple": through_a_tuple,
    "a closure's": closure,
}


def everything_changes(kernel: Any) -> None:
    change()
    getattr(kernel, "later", lambda: None)()


def result(kernel: Any, dtype: Any = np.float64) -> float:
    out = np.zeros(1, dtype)
    kernel[1, 1](out)
    return float(out[0])


@pytest.mark.parametrize("name", MAKERS)
def test_a_later_launch_sees_what_the_first_of_its_types_saw(name: str) -> None:
    function = MAKERS[name]()
    kernel = cuda.jit(function)
    assert result(kernel) == 1
    everything_changes(function)
    assert result(kernel) == 1
    assert simt.xray(kernel)[1, 1](out := np.zeros(1)).ok  # the lens sees the same kernel
    assert out[0] == 1
    if "function" not in name:  # which is compiled once for all types
        assert result(kernel, np.float32) == 100
        assert result(kernel) == 1
        kernel.recompile()
        assert result(kernel) == 100


@pytest.mark.parametrize("name", MAKERS)
def test_another_kernel_of_the_same_function_is_compiled_anew(name: str) -> None:
    function = MAKERS[name]()
    assert result(cuda.jit(function)) == 1
    everything_changes(function)
    want = 1 if "function" in name else 100  # that one has been compiled already
    assert result(cuda.jit(function)) == want
    simt.xray(function)[1, 1](out := np.zeros(1))
    assert out[0] == want


@pytest.mark.parametrize("name", MAKERS)
def test_a_declared_kernel_is_compiled_where_it_is_defined(name: str) -> None:
    function = MAKERS[name]()
    kernel = cuda.jit("void(float64[:])")(function)
    everything_changes(function)
    assert result(kernel) == 1


def test_a_declared_device_function_is_compiled_where_it_is_defined() -> None:
    one = cuda.jit("int64()", device=True)(lambda: NUMBER)
    change()

    @cuda.jit
    def kernel(out):
        out[0] = one()

    assert result(kernel) == 1


def test_a_redefined_function_is_a_new_kernel() -> None:
    text = "from simt import cuda\n@cuda.jit\ndef kernel(out):\n    out[0] = {}\n"
    found = []
    for value in (1, 2):  # as a notebook's cell that is edited and run again
        file, scope = f"<cell {value}>", dict[str, Any]()
        lines = text.format(value).splitlines(keepends=True)
        linecache.cache[file] = (1, None, lines, file)
        exec(compile("".join(lines), file, "exec"), scope)
        found.append(result(scope["kernel"]))
    assert found == [1, 2]


def test_a_name_that_is_defined_after_a_failure_is_found() -> None:
    @cuda.jit(device=True)
    def helper():
        return late  # noqa: F821

    @cuda.jit
    def kernel(out):
        out[0] = helper()

    with pytest.raises(simt.errors.KernelError, match="late"):
        result(kernel)
    try:
        globals()["late"] = 3
        assert result(kernel) == 3
    finally:
        del globals()["late"]


# --- arrays on the device


def test_a_race_on_a_captured_array_is_found() -> None:
    shared = cuda.to_device(np.zeros(1))

    @cuda.jit
    def kernel():
        shared[0] += 1

    report = simt.xray(kernel)[2, 64]()
    assert "race" in {finding.kind for finding in report.findings}
    assert "shared" in report.arrays

"""What Numba refuses, the machine refuses, in plain words where the mistake is common."""

import gc
from typing import Any

import numba
import numpy as np
import pytest

import simt
from simt import cuda
from simt.core.findings import SimtWarning
from simt.frontend import typecheck

from . import sources
from .harness import line, xray

# each stands in a kernel that has `i` and a float64 array `out` of 32 numbers
REFUSED = [
    "values = [1.0] * 3; out[i] = values[0]",
    "out[i] = sum([k for k in range(3)])",
    "print('%d' % i)",
    "cuda.syncthreads(3)",
    "cuda.atomic.add(out, 0)",
    "class A: pass",
    "out[i] = cuda.to_device(out)",
    "gl = __import__('os')",
    "del out[i]",
]


def kernel_of(body: str) -> Any:
    text = body.replace("; ", "\n    ")
    return sources.module(f"def kernel(out):\n    i = cuda.grid(1)\n    {text}\n", cuda).kernel


@pytest.mark.parametrize("body", REFUSED)
def test_what_numba_refuses_the_machine_refuses_with_its_line(body: str) -> None:
    kernel = kernel_of(body)
    report = xray(kernel, 1, 32, np.zeros(32))
    assert not report.ok
    first = report.findings[0]
    assert first.kind in ("not-a-kernel", "unsupported"), str(first)
    assert 10 < len(first.message) < 400
    assert "Traceback" not in first.message
    assert first.line is not None
    assert line(kernel, "i = cuda.grid(1)") < first.line


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("body", ["out[i] = i", "out[i] = [i]"])
def test_a_verdict_leaves_the_garbage_collector_as_it_was(body: str, before: bool) -> None:
    (gc.enable if before else gc.disable)()
    try:
        xray(kernel_of(body), 1, 32, np.zeros(32))
        assert gc.isenabled() is before
    finally:
        gc.enable()


def test_the_verdict_is_given_for_each_list_of_types() -> None:
    """The same kernel may be right for one dtype and refused for another."""
    kernel = cuda.jit(kernel_of("out[i] = out[i] & 1"))
    whole = cuda.to_device(np.arange(32))
    kernel[1, 32](whole)
    np.testing.assert_array_equal(whole.copy_to_host(), np.arange(32) % 2)
    with pytest.raises(simt.errors.KernelError):
        kernel[1, 32](cuda.to_device(np.zeros(32)))
    kernel[1, 32](whole)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("out[i / 2] = 1", "an index must be a whole number, this one is a float: use //"),
        ("out[i] = out[i / 2]", "an index must be a whole number, this one is a float"),
        ("out[cuda.threadIdx] = 1", "this one has three parts: write .x"),
        ("out[cuda.grid] = 1", "a function stands where an index must: call it, with ()"),
        ("out['x'] = 1", "an index must be a number, not a string"),
        ("out[i, 0] = 1", "too many indices: the array has 1 dimension"),
        ("out[i] = out[0:2]", "an array cannot be stored in one element"),
        ("x = out[i]; out[i] = x[0]", "arrays and tuples can be indexed, and this is a float32"),
        ("x = out + out; out[i] = x[i]", "a kernel cannot make a new array"),
        ("x = -out; out[i] = x[i]", "a kernel cannot make a new array"),
        ("x = cuda.blockIdx * cuda.blockDim; out[i] = x", "three parts each: write .x"),
        ("i = cuda.grid(2); out[i[0]] = i < 3", "x, y = cuda.grid(2) takes them apart"),
        ("out[i] = out[i] + cuda.grid", "call it, with (), as in cuda.grid(1)"),
        ("if out > 3: out[i] = 1", "a whole array cannot be true or false"),
        ("out[i] = math.sqrt(out)", "sqrt() takes a number, and this is a whole array"),
        ("out[i] = out(i)", "its elements are in [ ], not ( )"),
        ("out[i] = out.shape(0)", "its elements are in [ ], not ( )"),
        ("out[i] = out.length", "an array has no attribute length in a kernel"),
        ("for j in out.size: out[i] += j", "range(n) counts up to it"),
        ("for j in range(out.shape): out[i] += j", "a.shape[0] is its first number"),
        ("out[i] = None", "None cannot be stored in a 1-dimensional array of float32"),
        ("out[i] = 'a'", "a string cannot be stored in a 1-dimensional array of float32"),
        ("s = cuda.shared.array(32, float); out[i] = s[0]", "the dtype of an array in a kernel"),
        ("s = cuda.shared.array(32); out[i] = s[0]", "takes 2 arguments (shape, dtype), 1 given"),
        (
            "cuda.atomic.add(out[0], 1)",
            "cuda.atomic.add takes 3 arguments (ary, idx, val), 2 given",
        ),
        (
            "s = cuda.shared.array(8, np.int16); cuda.atomic.add(s, 0, 1)",
            "takes elements of 32 or 64 bits",
        ),
        ("s = np.zeros(3); out[i] = s[0]", "a block's a cuda.shared.array"),
        ("out[i] = np.sort(out)", "it works on whole arrays"),
        ("cuda.syncthread()", "there is no cuda.syncthread; did you mean cuda.syncthreads?"),
        ("out[i] = cuda.blockdim.x", "there is no cuda.blockdim; did you mean cuda.blockDim?"),
        ("out[i] = sqrt(out[i])", "name 'sqrt' is not defined; did you mean math.sqrt?"),
        ("out[i] = threadIdx.x", "name 'threadIdx' is not defined; did you mean cuda.threadIdx?"),
        ("x = 3; out[i] = x[0]", "only arrays and tuples can be indexed, and this is an int64"),
        ("x += out[i]; out[i] = x", "x is used before anything was assigned to it"),
        (
            "x = 1\n    if i > 3: x = out\n    out[i] = x",
            "x is an int64 on one path and a 1-dimensional array of float32 on another",
        ),
        ("return out[i]", "a kernel cannot return a value: write it to an array"),
        ("out[:] = out + out", "compute single elements, with all their indices"),
        (
            "out[i] = out.size()",
            "a number is called here as if it were a function: leave out the ()",
        ),
        ("for k in range(0, 9, cuda.gridsize):\n        out[k] = 1", "a function stands where"),
        ("a, b = i", "one number cannot be taken apart into several"),
        ("out[i] = cuda.syncthreads_count(i < 3)", "syncthreads_count takes a whole number"),
        ("out[0] = cuda.shared.array(i, numba.float32)[0]", "shared.array"),
    ],
)
def test_the_commonest_mistakes_get_plain_words(body: str, said: str) -> None:
    first = xray(kernel_of(body), 1, 32, np.zeros(32, np.float32)).findings[0]
    assert said in first.message
    assert first.kind == "not-a-kernel"
    assert first.line is not None


@pytest.mark.parametrize("error", [ImportError("no module named numba.cuda.np"), KeyError("x")])
def test_a_verdict_that_fails_is_told_once_and_in_each_report(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> None:
        raise error

    monkeypatch.setattr(typecheck, "type_annotation", fails)
    monkeypatch.setattr(typecheck, "_reported", [])
    kernel, out = cuda.jit(kernel_of("out[i] = i")), cuda.to_device(np.zeros(32))
    said = rf"Numba could not be asked .*\({type(error).__name__}: "
    with pytest.warns(SimtWarning, match=said):
        kernel[1, 32](out)
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(32))
    for _ in range(2):  # a warning is an error in the tests: it came once only
        report = simt.xray(kernel)[1, 32](out)
        (finding,) = report.findings
        assert (finding.kind, finding.severity) == ("no-type-check", "warning")
        assert report.ok
        assert "could not be asked" in str(report)


@pytest.mark.parametrize("call", ["cuda.grid()", "cuda.grid(1, 1)", "cuda.syncthreads(1)"])
def test_a_call_with_the_wrong_number_of_arguments_is_told_once(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the machine; a warning that Numba could not be asked would be an error here."""
    monkeypatch.setattr(typecheck, "_reported", [])
    with pytest.raises(simt.errors.KernelError, match="argument"):
        cuda.jit(kernel_of(f"k = {call}; out[k] = 1"))[1, 32](cuda.to_device(np.zeros(32)))
    assert typecheck.unasked() is None


def test_the_smaller_of_two_numbers_is_no_riddle_to_numbas_older_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(typecheck, "_reported", [])
    out = cuda.to_device(np.zeros(32))
    cuda.jit(kernel_of("out[i] = min(3, out.size)"))[1, 32](out)
    np.testing.assert_array_equal(out.copy_to_host(), 3)


def test_a_maximum_is_refused_alike_once_numba_for_the_cpu_knows_it() -> None:
    def kernel(a, out):
        out[0] = np.max(a)

    numba.njit(lambda a: np.max(a))(np.zeros(2))
    with pytest.raises(
        simt.errors.KernelError, match="no code for the max of a whole array: write a loop"
    ):
        cuda.jit(kernel)[1, 1](cuda.to_device(np.zeros(3)), cuda.to_device(np.zeros(1)))

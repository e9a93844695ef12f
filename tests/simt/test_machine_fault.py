"""A fault of the machine itself is said to be one, with the line and where to report it."""

import numpy as np
import pytest

import simt
from simt import cuda


@cuda.jit
def roots(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = cuda.cbrt(a[i])


LINE = roots.py_func.__code__.co_firstlineno + 4


@pytest.mark.parametrize(
    "error", [KeyError("lost"), TypeError("no such thing"), ZeroDivisionError(), RuntimeError("x")]
)
def test_the_learner_is_not_blamed(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(*args: object) -> None:
        raise error

    monkeypatch.setattr("simt.intrinsics.math.cast_up", broken)
    with pytest.raises(simt.errors.KernelError) as raised:
        roots[1, 32](cuda.to_device(np.ones(32, np.float32)))
    report = simt.xray(roots)[1, 32](cuda.to_device(np.ones(32, np.float32)))
    said = str(raised.value)
    assert said == str(report.findings[0])
    assert said.startswith(f"line {LINE}: the SIMT machine failed here, this is not your mistake: ")
    assert type(error).__name__ in said
    assert "test_machine_fault.py" in said  # where it was raised
    assert said.endswith("/issues")
    assert (report.findings[0].kind, report.ok) == ("machine-fault", False)
    assert "does not work in a kernel" not in said


def test_the_machine_works_again_after_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    a = cuda.to_device(np.full(32, 8, np.float32))
    with monkeypatch.context() as patched:
        patched.setattr("simt.machine.machine.gather", None)
        with pytest.raises(simt.errors.KernelError, match="not your mistake"):
            roots[1, 32](a)
    roots[1, 32](a)
    np.testing.assert_allclose(a.copy_to_host(), 2, rtol=1e-6)

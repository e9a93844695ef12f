"""The classes of errors are Numba's too, so that `except` clauses of existing programs hold."""

import pickle
from typing import Any

import numpy as np
import pytest
from numba.core import errors as core

from simt import cuda
from simt.errors import KernelError, MachineFault

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")


def unknown_name(a):
    a[0] = nowhere  # noqa: F821


def a_dict(a):
    table = {1: 2}
    a[0] = table[1]


def an_import(a):
    import math

    a[0] = math.pi


def returns(a):
    return a[0]


@cuda.jit(device=True)
def calls_nowhere(x):
    return nowhere(x)  # noqa: F821


def in_a_device_function(a):
    a[0] = calls_nowhere(1)


REFUSED = [unknown_name, a_dict, returns, in_a_device_function]


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda k: k.__name__)
def test_what_numba_refuses_is_a_typing_error(kernel: Any) -> None:
    ours = pytest.importorskip("numba.cuda.core.errors").TypingError
    for kind in (core.TypingError, core.NumbaError, ours, KernelError, RuntimeError):
        with pytest.raises(kind) as caught:
            cuda.jit(kernel)[1, 1](np.zeros(1))
        assert caught.value.report.findings[0].kind == "not-a-kernel"


def test_the_sentence_and_the_name_stay_ours() -> None:
    with pytest.raises(core.TypingError) as caught:
        cuda.jit(unknown_name)[1, 1](np.zeros(1))
    assert str(caught.value).endswith("name 'nowhere' is not defined")
    assert type(caught.value).__name__ == "KernelError"
    assert caught.value._render_traceback_()[0].startswith("\x1b[1mKernelError\x1b[0m: line ")
    assert len(caught.value._render_traceback_()) == 1


def test_an_error_keeps_numbas_finer_class() -> None:
    from numba.cuda.errors import UnsupportedBytecodeError

    with pytest.raises(UnsupportedBytecodeError, match="an import cannot be used in a kernel"):
        cuda.jit(an_import)[1, 1](np.zeros(1))


def test_the_classes_are_made_once_and_travel_between_processes() -> None:
    kind = KernelError.also(core.TypingError, RuntimeError)
    assert kind is KernelError.also(core.TypingError, RuntimeError)
    assert KernelError.also(RuntimeError) is KernelError
    assert issubclass(MachineFault.also(TypeError), MachineFault)
    with pytest.raises(core.TypingError) as caught:
        cuda.jit(unknown_name)[1, 1](np.zeros(1))
    caught.value.report = None
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert str(again) == str(caught.value)

"""What the machine does where Numba is not: `python -m tests.simt.without_numba` prints it as JSON.

The kernels are those that the machine is tested with elsewhere. Where they take a type from Numba,
they get NumPy's of that name.
"""

import copy
import json
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.simt.browser_tab import refuse

RIGHT = ("basic", "exchange", "language", "shared", "values", "warp")
WRONG = ("barriers", "code", "memory", "races")


def catalogue(names: list[str]) -> list[Any]:
    """The cases of modules that import types from Numba."""
    numba: Any = types.ModuleType("numba")
    for name in ("float32", "float64", "int32", "int64"):
        setattr(numba, name, getattr(np, name))
    sys.modules["numba"] = numba
    found = [__import__(f"tests.simt.{name}", fromlist=["CASES"]).CASES for name in names]
    del sys.modules["numba"]
    return [case for cases in found for case in cases]


def verdicts() -> dict[str, Any]:
    """Of each right kernel what is wrong with it, if anything; of each wrong one what is found."""
    from tests.simt.cases import assert_same
    from tests.simt.harness import xray

    right: dict[str, str] = {}
    for case in catalogue([f"right_{one}" for one in RIGHT]):
        args = copy.deepcopy(case.make())
        report = xray(case.kernel, case.grid, case.block, *args, shared=case.shared)
        right[case.name] = "".join(str(f) for f in report.findings if f.kind != "no-type-check")
        assert_same(args, case.expected(), case.rtol)
    wrong = []
    for case in catalogue([f"wrong_{one}" for one in WRONG]):
        report = xray(case.kernel, case.grid, case.block, *case.args())
        wrong.append((case.name, case.kind, [f.kind for f in report.findings]))
    return {"right": right, "wrong": wrong}


def said(run: Callable[[], Any]) -> str:
    """What a call gives or raises."""
    try:
        return repr(run())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def launches() -> dict[str, Any]:
    """What is said of a launch, the second one too, and of what needs Numba or threads."""
    import simt
    from simt import cuda

    @cuda.jit
    def double(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = cuda.float32(2) * a[i]

    a = cuda.to_device(np.arange(40, dtype=np.float32))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        double[2, 32](a)
        double[2, 32](a)
    return {
        "warned": [f"{one.filename.rpartition('/')[2]}: {one.message}" for one in warned],
        "doubled": a.copy_to_host().tolist(),
        "report": str(simt.xray(double)[2, 32](a)),
        "vectorize": said(lambda: cuda.vectorize(["float32(float32)"])),
        "unknown": said(lambda: cuda.no_such_name),
    }


if __name__ == "__main__":
    refuse()
    print(json.dumps(launches() | verdicts()))

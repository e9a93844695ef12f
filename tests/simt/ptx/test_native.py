"""Machine code of PTX leaves the bits that the executor leaves, and hands over what is wrong."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import simt
from simt.cpp import cpp
from simt.cpp.module import CppKernel

from ..cpp import classics_numbers, classics_sequences
from ..cpp.classics import CLASSICS, MISTAKES, Mistake

assert classics_numbers.add is classics_sequences.add  # both have filled the lists

pytestmark = [
    pytest.mark.usefixtures("_nvrtc"),
    pytest.mark.filterwarnings("ignore::simt.SimtWarning"),
]

LEFT = {"half2_axpy": "f16x2", "gemm_wmma": "wmma"}  # to the executor, and why
ANY_ORDER = {"bfs"}  # more than one result is right


def unchecked(kernel: CppKernel, launch: Any, *args: Any) -> dict[str, Any]:
    """A launch by machine code; what is known of it."""
    with simt.unchecked():
        kernel[launch](*args)
    native: dict[str, Any] = kernel.program.native
    return native


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_leaves_the_same_bits(name: str) -> None:
    classic = CLASSICS[name]
    left, wanted = classic.arguments(), classic.arguments()
    kernel, other = (cpp(classic.source)[name] for _ in range(2))
    if classic.cooperative:
        kernel, other = kernel.cooperative, other.cooperative
    native = unchecked(kernel, classic.launch, *left)
    assert LEFT.get(name, "grid" if classic.cooperative else "") in native.get("left", "")
    assert ("left" in native) == (name in LEFT or classic.cooperative), native
    if name in ANY_ORDER:
        result = classic.result(*classic.arguments())
        np.testing.assert_allclose(left[-1], result, rtol=classic.rtol, atol=classic.rtol)
        return
    other[classic.launch](*wanted)
    for mine, its in zip(left, wanted, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(its).tobytes()


STOPS = [m for m in MISTAKES if m.kind in ("out-of-bounds", "barrier-divergence", "misaligned")]


@pytest.mark.parametrize("mistake", STOPS, ids=lambda m: f"{m.kernel}-{m.kind}")
def test_what_stops_a_launch_is_told_as_the_executor_tells_it(mistake: Mistake) -> None:
    classic, source = CLASSICS[mistake.kernel], CLASSICS[mistake.kernel].source
    for old, new in mistake.edits.items():
        source = source.replace(old, new, 1)
    messages = []
    for fast in (True, False):
        kernel, args = cpp(source)[mistake.kernel], classic.arguments()
        run = partial(unchecked, kernel, classic.launch) if fast else kernel[classic.launch]
        with pytest.raises(simt.errors.KernelError) as raised:
            run(*args)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert mistake.says in messages[0]

"""Lines that do nothing, though something was meant, are said to."""

from typing import Any

import numpy as np
import pytest

from simt import cuda

from . import sources
from .harness import findings, launch, only, xray

IDLE = [
    ("cuda.syncthreads", "cuda.syncthreads without () does nothing: write cuda.syncthreads()"),
    ("cuda.threadfence", "cuda.threadfence without ()"),
    ("out[i] == 3", "out[i] == 3 compares and forgets the result"),
    ("out[i] + 1", "out[i] + 1 is computed and forgotten"),
    ("out = 2 * a[i]", "leaves the array out as it is: out[...] = writes an element"),
]
NOT_IDLE = [
    '"""A docstring in the middle."""',
    "cuda.syncthreads()",
    "cuda.atomic.add(out, i, 1)",
    "print(i) if i > 99 else None",
    "n = n + 1; out[i] = n",
    "out = out[i:]; out[0] = 1",
    "a = out; a[i] = 1",
    "a = a[i];out[i] = a",  # in one line
    "i = 3",
    "...",
]


def kernel_of(body: str) -> Any:
    text = body.replace("; ", "\n    ")
    source = f"def kernel(a, out, n):\n    i = cuda.grid(1)\n    {text}\n"
    return sources.module(source, cuda).kernel


def arguments() -> tuple[np.ndarray, np.ndarray, int]:
    return np.ones(32, np.float32), np.ones(32, np.float32), 3


@pytest.mark.parametrize(("body", "said"), IDLE)
def test_it_is_a_finding_with_its_line_and_a_plain_launch_warns(body: str, said: str) -> None:
    found = only(xray(kernel_of(body), 1, 32, *arguments()), "no-effect")
    assert said in found.message
    assert (found.line, found.severity) == (3, "warning")
    with pytest.warns(UserWarning, match="line 3: ") as caught:
        launch(kernel_of(body), 1, 32, *arguments())
    assert said in str(caught[0].message)


@pytest.mark.parametrize("body", NOT_IDLE)
def test_what_does_something_is_not(body: str) -> None:
    assert not findings(xray(kernel_of(body), 1, 32, *arguments()), "no-effect")

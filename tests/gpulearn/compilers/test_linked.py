"""The code that a GPU would get, and that what the tests read off plain PTX holds for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numba
import pytest

from simt.numba_ptx.codegen import compile_to_ptx, linked_ptx
from simt.ptx.parse import parse
from tests.simt.ptx.run import CAPABILITY
from tools.record.launches import examples

pytestmark = pytest.mark.usefixtures("_linker")

BY_KERNEL = {example.kernel.__name__: example for example in examples().values()}
# those whose PTX other tests read, of each kind one
READ = (
    "matmul_tiled", "matmul_register_strip", "matmul_vectorized", "copy_in_runs",
    "block_sums_shuffle", "softmax_rows",
)  # fmt: skip
SPACES = {"global", "shared", "local"}


def types(name: str) -> tuple[Any, ...]:
    return tuple(numba.typeof(value) for value in BY_KERNEL[name].launch.args)


def accesses(text: str) -> Counter[str]:
    return Counter(i.name for i in parse(text).kernels[0].instructions if SPACES & set(i.op[1:2]))


@pytest.mark.parametrize("name", READ)
def test_linking_keeps_every_access_to_memory(name: str) -> None:
    kernel = BY_KERNEL[name].kernel
    plain = accesses(compile_to_ptx(kernel, types(name), CAPABILITY))
    assert plain == accesses(linked_ptx(kernel, types(name), CAPABILITY))
    assert plain


def test_what_numba_refuses_is_refused() -> None:
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError):
        linked_ptx(BY_KERNEL["vector_add"].kernel, (numba.int64,) * 3, CAPABILITY)

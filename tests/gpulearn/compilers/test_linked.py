"""The code that a GPU would get, and that what the tests read off plain PTX holds for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numba
import pytest

from simt.numba_ptx.codegen import compile_to_ptx, linked_ptx
from simt.ptx.parse import parse
from tests.simt.ptx.run import CAPABILITY
from tools.gpu.cases import CASES
from tools.gpu.codegen import linked_machine_code

pytestmark = pytest.mark.usefixtures("_linker")

# those whose PTX other tests read, of each kind one
READ = (
    "matmul_tiled, whole", "matmul_register_strip, whole", "matmul_vectorised, whole",
    "copy_in_runs, float32", "block_sums_shuffle, odd, blocks of 64", "softmax_rows, odd",
)  # fmt: skip
SPACES = {"global", "shared", "local"}


def types(name: str) -> tuple[Any, ...]:
    return tuple(numba.typeof(value) for value in CASES[name].shot("small").args)


def accesses(text: str) -> Counter[str]:
    return Counter(i.name for i in parse(text).kernels[0].instructions if SPACES & set(i.op[1:2]))


@pytest.mark.parametrize("name", READ)
def test_linking_keeps_every_access_to_memory(name: str) -> None:
    kernel = CASES[name].kernel
    plain = accesses(compile_to_ptx(kernel, types(name), CAPABILITY))
    assert plain == accesses(linked_ptx(kernel, types(name), CAPABILITY))
    assert plain


@pytest.mark.parametrize("name", ["vector_add, float32", "grid_sum_cooperative, odd"])
def test_machine_code_is_made_for_the_capability(name: str) -> None:
    made = {
        capability: linked_machine_code(CASES[name].kernel, types(name), capability)
        for capability in ((8, 0), (9, 0))
    }
    assert all(code.startswith(b"\x7fELF") for code in made.values())
    assert all(name.partition(",")[0].encode() in code for code in made.values())
    assert made[8, 0] != made[9, 0]


def test_what_numba_refuses_is_refused() -> None:
    from numba.core.errors import NumbaError

    with pytest.raises(NumbaError):
        linked_ptx(CASES["vector_add, float32"].kernel, (numba.int64,) * 3, CAPABILITY)

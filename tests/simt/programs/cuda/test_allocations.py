"""Memory of more kinds than one: what it may be, and what is found in it."""

import tracemalloc

import pytest

from simt.host.settings import unchecked
from simt.programs.launches import Launches

from .test_programs import HERE, is_said

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "memory.cu"


# what each function prints, and for each finding the mark of its line and words of it
PRINTED = {
    "opt_in": (
        "cudaErrorInvalidValue cudaErrorInvalidValue cudaSuccess 1 160000 of 166912, 0 wrong, "
        "79996",
        {
            "no opt-in": "a block has at most 49,152 bytes of shared memory as it is, got 160,000: "
            "let cudaFuncSetAttribute with",
            "more than there is": "166,913 bytes of dynamic shared memory are asked for, and this",
            "beyond the opt-in": "a block has at most 160,000 bytes of shared memory as it is",
            "static and dynamic": "got 52,768: let cudaFuncSetAttribute with "
            "cudaFuncAttributeMaxDynamicSharedMemorySize allow 20,000",
        },
    ),
    "pools": (
        "1500/1500 1500/1500, 500/1500 500/1500, 500/1500 1200/1500, 500/500 600/600, "
        "cudaErrorMemoryAllocation 4000/4000 4000/4000, 1 7 cudaErrorInvalidValue "
        "cudaErrorInvalidValue cudaErrorInvalidValue 1",
        {
            "pool is full": "200 bytes are asked for, and 96 of 4,096 are free in this pool",
            "default pool": "the default memory pool cannot be destroyed",
            "no pool": "there is no memory pool 0x",
            "read only": "cudaMemPoolAttrUsedMemCurrent of a memory pool is set to 0",
        },
    ),
    "freed_in_order": (
        "cudaErrorIllegalAddress ",
        {
            "fills": "it is x (128 bytes from line",
            "other stream": "fill on two writes x, which the allocation of line",
            "free": "the freeing on one frees x, which fill of line",
        },
    ),
    "namesakes": ("31 42", {}),
    "device": (
        "cudaErrorInvalidDevice cudaErrorInvalidDevice 1 2, 8388608 then 67108864, 16 3 0, 40960, "
        "1 65536 512",
        {"no device": "device 1 is asked for, of one", "itself": "as a peer, of itself"},
    ),
    "forked": ("1", {}),
    "given_back": ("39", {}),
    "registered": ("999 2999 1000, cudaSuccess -1 2999", {}),
}


@pytest.mark.parametrize("name", PRINTED)
def test_memory_is_what_it_is_on_a_gpu(name, program, capsys):
    printed, found = PRINTED[name]
    launches = Launches(in_detail=False)
    tracemalloc.start()
    assert program.run([name], launches, captured=True) == 0
    assert tracemalloc.get_traced_memory()[1] < 200 << 20  # bytes, at most at once
    tracemalloc.stop()
    assert capsys.readouterr().out == printed + "\n"
    is_said(launches.sentences(), found, "memory.cu")


def test_what_is_set_to_a_value_takes_no_more_memory_than_it_has(program, capsys):
    tracemalloc.start()
    with unchecked():
        assert program.run(["filled"], Launches(in_detail=False), captured=True) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert capsys.readouterr().out == "1234\n"
    assert peak < 96 << 20  # and 64 of them are the program's own

"""The driver API and NVRTC: modules that are loaded while the program runs."""

import re

import pytest

from simt.programs.launches import Launches

from .test_programs import HERE, place

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "driver.cu"
OPTIONS = ["-lcuda", "-lnvrtc"]


def run(program, capsys, name):
    launches = Launches(in_detail=False)
    assert program.run([name], launches, captured=True) == 0
    said = [re.sub(r"^.*/(?=driver\.cu)", "", one) for one in launches.sentences()]
    return capsys.readouterr().out.splitlines(), said


LOADED = ["variable: 0 CUDA_SUCCESS", "4 bytes"]
RIGHT = {
    "by_pointers": [
        *LOADED, *(f"{what}: 0 CUDA_SUCCESS" for what in ("kernel", "launch", "wait")), "13.5 1",
    ],
    "in_one_piece": [*LOADED, "launch: 0 CUDA_SUCCESS", "13.5 1"],
    "by_its_name": [
        "found: 0 CUDA_SUCCESS", "1048576", "device: 0 CUDA_SUCCESS", "0",
        "missing: 500 CUDA_ERROR_NOT_FOUND",
    ],
    "with_pools": [
        *LOADED, "priority 0, same context 1", "priority -2, same context 1",
        "pool: 0 CUDA_SUCCESS", *["memory: 0 CUDA_SUCCESS", "5, used 1, then 0"] * 2, "1 1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_of_the_driver_api_gives_what_it_gives_on_a_gpu(name, program, capsys):
    assert run(program, capsys, name) == (RIGHT[name], [])


def test_mistakes_have_the_driver_s_errors_and_a_line(program, capsys):
    out, said = run(program, capsys, "mistakes")
    assert out[2:] == [
        "kernel: 500 CUDA_ERROR_NOT_FOUND", "too many: 1 CUDA_ERROR_INVALID_VALUE",
        "array: 801 CUDA_ERROR_NOT_SUPPORTED", "wait: 700 CUDA_ERROR_ILLEGAL_ADDRESS",
    ]  # fmt: skip
    for mark, words in {
        "no kernel": "the module has no kernel nothing",
        "not covered": "cuIpcOpenEventHandle is not covered",
    }.items():
        assert any(one.startswith(place(mark, "driver.cu") + words) for one in said), said
    assert "source.cu:7: thread 0 of block 0 accesses argument 1[256], out of bounds" in said[-1]

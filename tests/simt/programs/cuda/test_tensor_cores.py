"""A program on tensor cores, with copies and barriers of C++: what it computes, what is found."""

import re

import pytest

from simt.programs.launches import Launches

from .test_programs import HERE, line_of

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "tensor_cores.cu"
OPTIONS = ["-std=c++17", "-w"]


def test_matrices_and_tiles_come_out_right(program, capsys):
    launches = Launches(in_detail=False)
    assert program.run([], launches, captured=True) == 0
    assert capsys.readouterr().out == "wrong: 0 0 0 0\n"
    assert list(launches.sentences()) == []


def test_who_reads_a_tile_before_it_is_there_races(program, capsys):
    launches = Launches(in_detail=False)
    program.run(["early"], launches, captured=True)
    said = list(launches.sentences())
    line = line_of("reads", "tensor_cores.cu")
    assert any("race on tiles" in one and re.search(rf"line {line}\b", one) for one in said), said

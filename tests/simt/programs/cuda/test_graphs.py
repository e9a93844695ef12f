"""CUDA graphs: captured, made node by node, launched; with the races that plain streams have."""

import re
from functools import partial

import pytest

from simt.host.settings import block_order
from simt.programs.launches import Launches

from .test_programs import HERE, line_of

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "graphs.cu"
line = partial(line_of, file="graphs.cu")


def run(program, capsys, name, how="right"):
    launches = Launches(in_detail=False)
    assert program.run([name, how], launches, captured=True) == 0
    said = [re.sub(r"^.*/(?=graphs\.cu)", "", one) for one in launches.sentences()]
    return capsys.readouterr().out.splitlines(), said


def marked(text):
    """A text with the line of each mark in place of it."""
    return re.sub(r"\[([^]]*)\]", lambda mark: str(line(mark[1])), text)


MADE = [
    f"{what}: cudaSuccess"
    for what in ("memset", "copy", "child", "kernel", "back", "host", "instantiate", "launch")
]
RIGHT = {
    "fork_and_join": [
        "capture: cudaSuccess", "before 0", "3 nodes, 2 roots, 2 edges", "after 3",
    ],
    "beside_another_stream": ["added 5"],
    "launched_twice": ["8 24"],
    "joined_by_hand": ["after: cudaSuccess", "2 edges, 2"],
    "explicit_nodes": [
        "not covered: cudaErrorNotSupported", *MADE, "total 16384",
        "total 20480", "another kernel: cudaSuccess", "total 28672",
        "update: cudaSuccess", "host: 1", "total 20480",
        "update: cudaErrorGraphExecUpdateFailure", "topology: 1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_graph_does_what_the_same_calls_would(name, program, capsys):
    for seed in (0, 3):
        with block_order(seed):
            out, said = run(program, capsys, name)
            assert out == RIGHT[name]
            assert [one for one in said if "a node of a graph of this type is not" not in one] == []


NODE = "let one node of the graph depend on the other"
WRONG = {
    "fork_and_join": (
        "after 1",
        "graphs.cu:[add y]: add on branch 1 of the graph launched in line [launch of the fork] "
        "reads y, which fill of line [fill y] on branch 2 of the graph launched in line "
        f"[launch of the fork] writes, and nothing says which comes first: {NODE}",
    ),
    "beside_another_stream": (
        "added nan",
        "graphs.cu:[add beside the graph]: add on s2 reads x, which fill of line "
        "[fill in a graph] on s1 writes, and nothing says which comes first: record an event on "
        "s1 after line [fill in a graph] and let s2 wait for it, ",
    ),
    "launched_twice": (
        "8 0",
        "graphs.cu:[fill beside the second branch]: fill on s2 writes y, which add of line "
        "[second branch] on branch 2 of the graph launched in line [launch] reads, and nothing "
        "says which comes first: record an event on the graph's stream after line [launch] and "
        "let s2 wait for it, cudaEventRecord(event, stream) and cudaStreamWaitEvent(s2, event)",
    ),
    "explicit_nodes": (
        "total nan",
        "graphs.cu:[add node]: add on branch 1 of the graph launched in line [launch of nodes] "
        "reads y, which the memset of line [memset] on branch 2 of the graph launched in line "
        f"[launch of nodes] writes, and nothing says which comes first: {NODE}",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_race_in_a_graph_or_beside_it_has_both_lines(name, program, capsys):
    printed, sentence = WRONG[name]
    out, said = run(program, capsys, name, "wrong")
    assert out[-1] == printed
    assert any(one.startswith(marked(sentence)) for one in said), said


CAPTURES = [
    ("malloc", "Unsupported", "make it before cudaStreamBeginCapture"), ("end", "Invalidated", ""),
    ("malloc", "", ""), ("end", "", ""),
    ("wait", "Unsupported", "its stream is captured since line"),
    ("launch", "Invalidated", ""), ("end", "Invalidated", ""),
    ("default stream", "Implicit", "make streams with cudaStreamNonBlocking"),
    ("end", "Invalidated", ""),
    ("event", "CapturedEvent", "the host cannot wait for it"),
    ("not joined", "Unjoined", "what another stream was given at graphs.cu:"),
    ("too many threads", "cudaErrorInvalidConfiguration", "at most 1,024 threads"), ("end", "", ""),
]  # fmt: skip


def test_what_a_capture_cannot_hold_fails_with_its_line(program, capsys):
    out, said = run(program, capsys, "what_a_capture_cannot_hold")
    for printed, (mark, error, words) in zip(out, CAPTURES, strict=True):
        full = error if error.startswith("cuda") or not error else f"cudaErrorStreamCapture{error}"
        full = "cudaErrorCapturedEvent" if error == "CapturedEvent" else full or "cudaSuccess"
        assert printed.endswith(f": {full}"), (mark, printed)
        if words:
            start = f"graphs.cu:{line(mark)}: "
            assert any(one.startswith(start) and words in one for one in said), (mark, said)


@pytest.mark.parametrize("how", ["right", "wrong"])
def test_a_graph_takes_and_frees_memory_at_each_launch(how, program, capsys):
    out, said = run(program, capsys, "memory_of_its_own", how)
    result = f"{6 if how == 'right' else 'nan'}, 4 bytes, in use"
    done = ["launch: cudaSuccess", result]
    assert out == [
        "memory: cudaSuccess", *done, "again: cudaErrorInvalidValue", "free: cudaSuccess", *done,
        "free: cudaSuccess", "free: cudaErrorInvalidValue",
    ]  # fmt: skip
    uninitialized = [one for one in said if "reads in[0] in global memory, which nobody" in one]
    assert len(uninitialized) == (how == "wrong")
    assert any("memory of its last launch was not freed" in one for one in said)

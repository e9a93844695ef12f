"""Streams of CUDA programs, with a wait and without it: what is said of each kind of work.

That exactly the races are found, however a program waits, test_scripted.py holds.
"""

import re
from functools import partial

import pytest

from simt.host.settings import block_order, unchecked
from simt.programs.launches import Launches

from .test_programs import HERE, TIMED, line_of

pytestmark = pytest.mark.usefixtures("_host_compiler")
FILE = HERE / "orders.cu"
line = partial(line_of, file="orders.cu")


def run(program, capsys, name, how):
    launches = Launches(in_detail=False)
    assert program.run([name, how], launches, captured=True) == 0
    said = [re.sub(r"^.*/(?=orders\.cu)", "", one) for one in launches.sentences()]
    said = [one for one in said if one != TIMED and "no result of a kernel" not in one]
    return capsys.readouterr().out.splitlines(), said


# what each prints with its waits; without them, and the lines and words of what is then said
CASES = {
    "by_event": (
        ["twice 6"], ["twice 0"],
        [("fill on s1", "twice on s2",
          "twice on s2 reads x, which fill of line LINE on s1 writes, and nothing says which comes "
          "first: record an event on s1 after line LINE and let s2 wait for it, "
          "cudaEventRecord(event, s1) and cudaStreamWaitEvent(s2, event)")],
    ),
    "by_the_host_s_event": (
        ["set 0"], ["set 3"],
        [("memset before the event", "memset", "the memset on s2 writes x, which the memset of"),
         ("fill before the event", "memset", "the memset on s2 writes x, which fill of line LINE")],
    ),
    "by_query": (
        ["twice 6"], ["twice 0"],
        [("fill before the question", "twice after the question", "twice on s2 reads x, which")],
    ),
    "apart_from_the_default_stream": (
        ["copied 3"], ["copied 0"],
        [("fill apart", "copy of the default stream",
          "the copy to the host on the default stream reads x, which fill of line LINE on apart")],
    ),
    "pageable_in": (
        ["twice 14"], ["twice 0"],
        [("staged", "twice of what was staged",
          "twice on s2 reads x, which the copy to the device of line LINE on s1 writes")],
    ),
    "pinned_in": (
        ["copied 3"], ["copied 4"],
        [("", "changed too early", "the host writes pinned memory (32,768 bytes from")],
    ),
    "pinned_out": (
        ["copied 3"], ["copied 1"],
        [("", "read too early", "the host reads pinned memory (32,768 bytes from")],
    ),
    "pinned_parts": (
        ["part 1", "part 2", "part 3", "part 4"], ["part 1", "part 2"],
        [("", "a part too early", "the host reads pinned memory (32,768 bytes from")],
    ),
    "managed_parts": (
        ["first 3", "second 4"], ["first 3", "second 4"],
        [("", "the other part too early", "the host reads out (32,768 bytes from")],
    ),
    "managed_neighbors": (["first 3", "second 4"], ["first 3", "second 4"], []),
    "from_a_pool": (
        ["twice 6"], ["twice nan"],
        [("allocated", "used on s2",
          "twice on s2 reads z, which the allocation of line LINE on s1 makes"),
         ("used on s2", "freed",
          "the freeing on s1 frees z, which twice of line LINE on s2 reads")],
    ),
    "constant_memory": (
        ["times 15"], ["times 0"],
        [("factor", "factor used",
          "times on s1 reads factor, which the copy to the device of line LINE on s2 writes")],
    ),
    "in_turn": (
        ["in turn 4"], ["inside: cudaErrorNotPermitted", "in turn 4"],
        [("", "inside", "a function on a stream calls CUDA: let it tell the host")],
    ),
    "timed": (
        ["cudaSuccess 1"], ["cudaErrorNotReady 0"],
        [("", "asked", "an event is asked for its time before it is reached")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_program_with_its_waits_is_right(name, program, capsys):
    printed, _, _ = CASES[name]
    for seed in (0, 3):
        with block_order(seed):
            assert run(program, capsys, name, "right") == (printed, [])


@pytest.mark.parametrize("name", CASES)
def test_without_a_wait_both_lines_are_named_and_the_result_is_another(name, program, capsys):
    _, printed, found = CASES[name]
    out, said = run(program, capsys, name, "wrong")
    assert out == printed
    for first, second, text in found:
        if first:
            text = text.replace("LINE", str(line(first)))
        start = f"orders.cu:{line(second)}: {text}"
        assert any(one.startswith(start) for one in said), said
    assert bool(said) == bool(found)


def test_without_checks_the_order_is_the_same_and_nothing_is_said(program, capsys):
    with unchecked():
        assert run(program, capsys, "by_event", "right") == (["twice 6"], [])
        assert run(program, capsys, "by_event", "wrong")[1] == []

"""Random work on streams by a program in C++: its races are found, and results are allowed ones.

The oracle is that of `tests/simt/stream_programs.py`, with streams apart from the legacy default
stream, and copies from pageable memory that may be under way when their call returns.
"""

import re

import numpy as np
import pytest

from simt.host.settings import block_order
from simt.programs.cuda.run import CudaProgram
from simt.programs.cuda.sources import SourceFiles, frames
from simt.programs.launches import Launches

from ...stream_programs import Program, same
from .test_programs import HERE

pytestmark = pytest.mark.usefixtures("_host_compiler")

PART = r"(\w+)\[(\d+):(\d+)\]"
FORMS = [  # a line in Python, and what it is in a script: @ stands for how many elements
    (rf"mix\[1, 32, (\w+)\]\({PART}, {PART}\)", r"kernel \1 \2 \3 \5 \6 @\3:\4"),
    (rf"{PART}\.copy_to_device\({PART}, stream=(\w+)\)", r"copy \7 \1 \2 \4 \5 @\2:\3"),
    (rf"{PART}\.copy_to_host\({PART}, stream=(\w+)\)", r"copy \7 \4 \5 \1 \2 @\2:\3"),
    (rf"{PART}\.copy_to_device\(np\.full\((\d+), (\S+)\), stream=(\w+)\)", r"in \6 \1 \2 \4 \5"),
    (rf"seen\.append\({PART}\.copy_to_host\(stream=(\w+)\)\)", r"out \4 \1 \2 @\2:\3"),
    (r"(e\d)\.(record|wait)\((\w+)\)", r"\2 \1 \3"),
    (r"(e\d)\.synchronize\(\)", r"event \1"),
    (r"cuda\.synchronize\(\)", "all"),
    (r"(\w+)\.synchronize\(\)", r"stream \1"),
    (rf"{PART} = (\S+)", r"host \1 \2 @\2:\3 \4"),
]


class Scripted(Program):
    """A program of what `scripted.cu` carries out."""

    STREAMS = ("0", "legacy", "s1", "s2", "own", "n1", "n2")
    APART = ("n1", "n2")
    STAGED = True

    @property
    def script(self):
        return "\n".join(self._line(k, text) for k, text in enumerate(self.lines))

    def _line(self, number, text):
        form, made = next(one for one in FORMS if re.fullmatch(one[0], text))
        said = re.sub(form, made, text)
        said = re.sub(r"@(\d+):(\d+)", lambda m: str(int(m[2]) - int(m[1])), said)
        return f"{self.first + number} {said}"

    @property
    def first(self):
        """The number that the oracle gives to the first line."""
        return self.source.split(self.lines[0])[0].count("\n") + 1


class Collected(Launches):
    """Findings as they are."""

    def __init__(self):
        super().__init__(in_detail=False)
        self.found = []

    def add(self, file, finding):
        self.found.append(finding)


@pytest.fixture(autouse=True)
def _lines_of_the_script(monkeypatch):
    def locate(files, process, addresses):
        functions = (function for function, _, _ in frames(process, addresses))
        named = (re.search(r"\bsite<(\d+)>", function) for function in functions)
        return next((int(match[1]) for match in named if match), 0)

    monkeypatch.setattr(SourceFiles, "locate", locate)


@pytest.fixture(scope="module")
def built():
    with CudaProgram(HERE / "scripted.cu") as made:
        yield made


def carried_out(built, program, seed, capsys):
    launches = Collected()
    with block_order(seed):
        assert built.run([program.script], launches, captured=True) == 0
    out = [np.array(one.split(), float) for one in capsys.readouterr().out.splitlines()]
    assert {f.kind for f in launches.found} <= {"stream-race", "no-effect"}, launches.found
    races = [f for f in launches.found if f.kind == "stream-race"]
    return out, {(f.other_line or 0, f.line or 0) for f in races}


def difference(built, number, length, capsys):
    program = Scripted(number, length)
    got, found = carried_out(built, program, number % 4, capsys)
    races = program.races()
    if found != races:
        return f"races {sorted(races)}, found {sorted(found)}\n{program.script}"
    if not races:
        orders = [list(range(len(program.steps))), program.random_order()]
        right = all(same(got, program.result(order)) for order in orders)
    else:
        few = len(program.steps) <= 7  # there are not too many orders
        right = not few or any(same(got, program.result([*o])) for o in program.orders())
    return None if right else f"a result that is not allowed\n{program.script}"


@pytest.mark.parametrize("length", [6, 14, 24])
def test_exactly_the_races_are_found_and_results_are_allowed(length, built, capsys):
    for number in range(1000, 1030):
        wrong = difference(built, number, length, capsys)
        assert wrong is None, f"case {number}: {wrong}"

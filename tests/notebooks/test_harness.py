"""The harness finds each kind of failure, planted in a small notebook, and no others."""

import os
import re
import sys
from dataclasses import replace

import pytest
from jupyter_client.kernelspec import KernelSpec
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from gpulearn.judge.cells import stub_name
from simt.cpp import compiler
from tests.notebooks import kernel
from tests.notebooks.harness import faults, judged, needs_two_runs, solution_of
from tests.notebooks.kernel import Limits, Report, Run
from tests.notebooks.plants import CHECK, EXERCISE, NAME, SOLVED, STUB, code, exercise, healthy, of
from tests.support.processes import gone

pytestmark = pytest.mark.notebook

# What goes wrong in one cell -> the only faults that it may give. Each plant stands in its
# own cell of one notebook, so that one kernel tells them all.
PLANTS = {
    "1 / 0": ["raises ZeroDivisionError: division by zero"],
    "import ipywidgets, socket, subprocess, sys, threading, time, warnings": [],
    "@ipywidgets.interact(n=3)\ndef shown(n):\n    raise KeyError(n)": ["raises KeyError: 3"],
    "with ipywidgets.Output():\n    raise ValueError('within')": ["raises ValueError: within"],
    "ipywidgets.Output().append_stderr('from a callback')": ["writes to stderr: from a callback"],
    "ipywidgets.Output(outputs=[dict(output_type='error', ename='E', evalue='e', traceback=[])])": [
        "raises E: e"
    ],
    "socket.create_connection(('192.0.2.1', 80))": [
        "raises Offline: refused to look up 192.0.2.1: notebooks run without a network",
        "tried to look up 192.0.2.1",
    ],
    "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.2', 9))": [
        "raises Offline: refused to send to 192.0.2.2: notebooks run without a network",
        "tried to send to 192.0.2.2",
    ],
    "try:\n    socket.getaddrinfo('example.org', 80)\nexcept OSError:\n    pass": [
        "tried to look up example.org"
    ],
    "try:\n    socket.socket().connect(('192.0.2.3', 9))\nexcept OSError:\n    pass": [
        "tried to connect to 192.0.2.3"
    ],
    "subprocess.run([sys.executable, '-c', 'import socket;"
    ' socket.socket().connect_ex(("192.0.2.4", 9))\'], stderr=subprocess.DEVNULL)\n0': [
        "tried to connect to 192.0.2.4"
    ],
    "with socket.create_server(('127.0.0.1', 0)) as server:\n"
    "    socket.create_connection(server.getsockname()).close()": [],
    "warnings.warn('careful')": [r"writes to stderr: .*UserWarning: careful.*"],
    "subprocess.run([sys.executable, '-c', 'oops'])\n0": [
        r"writes to stderr: Traceback .* NameError: name 'oops' is not defined"
    ],
    "def late():\n    time.sleep(0.3)\n    1 / 0\n\n\nthreading.Thread(target=late).start()": [],
    # a thread's error belongs to the cell that runs when it happens
    "time.sleep(0.6)": [
        r"writes to stderr: Exception in thread .* ZeroDivisionError: division by zero"
    ],
    "from IPython.display import HTML, Image\n\nImage(b'\\x89PNG\\r\\n\\x1a\\n', format='png')": [
        r"shows image/png without alternative text: use gl\.show\(fig, alt=…\)"
    ],
    "HTML('<img src=\"data:,\">')": ["shows <img> without alternative text"],
    "HTML('<img alt=\"A line that rises.\">')": [],
    "ipywidgets.HTML('<svg></svg>')": ["shows <svg> without alternative text"],
}


def messages(found: list[str], cell: int) -> list[str]:
    """The faults of a cell, counted from 1, without their beginning."""
    head = f"{NAME} cell {cell}: "
    return [line.removeprefix(head) for line in found if line.startswith(head)]


def told(notebook: NotebookNode, form, folder, **options) -> list[str]:
    """The faults of a notebook, each one line, without the notebook's name."""
    found = faults(notebook, NAME, form, folder, **options)
    assert not any("\n" in line for line in found)
    return [line.removeprefix(f"{NAME} ") for line in found]


def wrong(name: str) -> str:
    """What stands in for the solution."""
    return solution_of(name).replace("2 *", "3 *")


@pytest.mark.parametrize("form", ["student", "solution", "both"])
def test_a_healthy_notebook_has_no_faults(form, tmp_path) -> None:
    assert told(healthy(), form, tmp_path) == []


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> list[str]:
    return faults(of(*PLANTS), NAME, "student", tmp_path_factory.mktemp("planted"))


@pytest.mark.parametrize("number", range(len(PLANTS)), ids=[p.split("\n")[0] for p in PLANTS])
def test_a_planted_failure_is_found(number, planted) -> None:
    expected = list(PLANTS.values())[number]
    found = messages(planted, number + 1)
    assert len(found) == len(expected), found
    for line, pattern in zip(sorted(found), sorted(expected), strict=True):
        assert re.fullmatch(pattern, line)


def test_checks_that_do_not_report_an_unsolved_exercise(tmp_path) -> None:
    three_lines = (
        "class NotSolvedYet(Exception):\n    pass\n\n\nraise NotSolvedYet('in many lines')"
    )
    checks = {
        "": "the unsolved exercise reports nothing: NotSolvedYet is expected",
        "print('✓ matmul_flops is right')": (
            "the unsolved exercise reports nothing: NotSolvedYet is expected"
        ),
        CHECK.replace(f" {EXERCISE})", " 3)"): (
            "the unsolved exercise reports BadInput: NotSolvedYet is expected"
        ),
        three_lines: (
            r"the unsolved exercise reports in \d+ lines: a sentence is expected, no stack trace"
        ),
        f"with __import__('ipywidgets').Output():\n    {CHECK}\n{CHECK}": (
            "the unsolved exercise reports 2 errors: one is expected"
        ),
        CHECK: None,
    }
    cells = [code("import gpulearn as gl")]
    for check in checks:
        cells += exercise(check=check)
    found = told(new_notebook(cells=cells), "student", tmp_path)
    for number, expected in enumerate(checks.values()):
        lines = [line for line in found if line.startswith(f"cell {2 * number + 3}: the ")]
        assert len(lines) == (expected is not None)
        assert not lines or re.fullmatch(f"cell .*: {expected}", lines[0])


def test_a_check_that_passes_too_early_and_a_stub_that_has_drifted(tmp_path) -> None:
    cells = [
        code("import gpulearn as gl"),
        *exercise(stub=SOLVED),
        *exercise(stub="def matmul_flops(m, n, p):\n    total = 0\n    ..."),
        *exercise(stub="def matmul_flops(m, n):\n    ...", check=CHECK),
        *exercise(stub="def matmul_flips(m, n, p):\n    ..."),
        *exercise(),
    ]
    assert told(new_notebook(cells=cells), "student", tmp_path) == [
        "cell 3: the check passes before anything is solved",
        "cell 4: the stub does not fit its solution: "
        "the stub's line 'total = 0' is not in the solution",
        "cell 6: the stub does not fit its solution: the stub takes (m, n), the solution (m, n, p)",
        "cell 8: is tagged exercise, but holds no stub of a known exercise",
    ]


def test_a_solution_that_does_not_pass(tmp_path) -> None:
    cells = [
        code("import gpulearn as gl"),
        *exercise(),
        *exercise(check="1 + 1"),
        *exercise(check=f"{CHECK[:-1]}[0])"),
    ]

    notebook = new_notebook(cells=cells)
    right = told(notebook, "solution", tmp_path)
    assert right == [
        "cell 5: does not show '✓ None' for the solution",
        "cell 7: raises TypeError: 'function' object is not subscriptable",
    ]
    mistaken = told(notebook, "solution", tmp_path, solve=wrong)
    assert mistaken[0].startswith("cell 3: raises WrongAnswer: matmul_flops: ")
    assert mistaken[1:] == right
    assert notebook.cells[1].source == STUB


def test_one_run_tells_of_both_forms(tmp_path) -> None:
    cells = [
        code("import gpulearn as gl"),
        *exercise(),
        *exercise(stub=SOLVED),
        *exercise(check=f"{CHECK[:-1]}[0])"),
        code("1 / 0"),
    ]

    notebook = new_notebook(cells=cells)
    early = "cell 5: the check passes before anything is solved"
    late = "cell 8: raises ZeroDivisionError: division by zero"
    said = told(notebook, "both", tmp_path)
    assert said[0] == early
    assert {line.partition(":")[0] for line in said[1:-1]} == {"cell 7"}
    assert said[-1] == late
    mistaken = told(notebook, "both", tmp_path, solve=wrong)
    assert mistaken[0].startswith("cell 3: raises WrongAnswer: matmul_flops: ")
    assert {early, late} < set(mistaken)
    assert notebook.cells[1].source == STUB


@pytest.mark.parametrize(
    ("after", "two"),
    [("1 + 1", False), ("matmul_flops(1, 2, 3)", True), ("%time matmul_flops(1, 2, 3)", True)],
)
def test_where_a_later_cell_uses_the_exercise_each_form_has_its_run(after, two) -> None:
    before = code("def matmul_flops(m, n, p):\n    return 0\n\n\nmatmul_flops(1, 2, 3)")
    cells = [before, *exercise(), code(after)]
    assert needs_two_runs(new_notebook(cells=cells)) == two


@pytest.mark.parametrize(
    ("sources", "limits", "fault"),
    [
        (
            ("1", "import time\ntime.sleep(60)", "1 / 0"),
            Limits(1, 60),
            "cell 2: takes more than 1 s",
        ),
        (
            ("from time import sleep", *["sleep(1)"] * 9),
            Limits(20, 4),
            r"cell \d: the notebook takes more than 4 s",
        ),
        (("1", "import os\nos._exit(3)", "1 / 0"), None, "cell 2: the kernel died"),
    ],
    ids=["slow cell", "slow notebook", "dead kernel"],
)
def test_a_notebook_that_ends_early(sources, limits, fault, tmp_path) -> None:
    (found,) = told(of(*sources), "student", tmp_path, limits=limits)
    assert re.fullmatch(fault, found)


def test_an_error_after_the_last_cell_is_found(tmp_path) -> None:
    late = "def late():\n    sleep(0.05)\n    1 / 0\n\n\nThread(target=late).start()"
    notebook = of("from threading import Thread\nfrom time import sleep", late)
    found = told(notebook, "student", tmp_path)  # a busy kernel says it in pieces
    assert all(one.startswith("cell 2: writes to stderr: ") for one in found)
    assert "Exception in thread" in found[0]
    assert "ZeroDivisionError" in found[-1]


@pytest.mark.skipif(os.name == "nt", reason="process groups are POSIX")
def test_the_kernel_and_its_children_are_gone_afterwards(tmp_path) -> None:
    source = (
        "import os, pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "pathlib.Path('pids').write_text(f'{os.getpid()} {child.pid}')\n"
        "time.sleep(60)"
    )
    assert told(of(source), "student", tmp_path, limits=Limits(cell=1.5))
    assert gone(*map(int, (tmp_path / "pids").read_text().split()))


def test_a_kernel_that_does_not_start(tmp_path, monkeypatch) -> None:
    broken = KernelSpec(argv=[sys.executable, "-c", "import nowhere"], language="python")
    monkeypatch.setattr(kernel.Kernel, "kernel_spec", broken)
    (found,) = told(of("1"), "student", tmp_path)
    assert found.startswith("cell 1: the kernel did not start: ")
    assert "No module named 'nowhere'" in found


def test_a_notebook_sees_nothing_of_its_user(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GPULEARN_DEVICE", "gpu")
    monkeypatch.setenv("GPULEARN_PROGRESS", str(tmp_path / "mine.json"))
    sources = (
        "import os, sys\nimport gpulearn as gl",
        "assert os.environ['GPULEARN_DEVICE'] == 'cpu', gl.banner()",
        f"{SOLVED}\n\n\n{CHECK}",
        f"assert os.path.samefile(sys.executable, {sys.executable!r})",
    )
    assert told(of(*sources), "student", tmp_path) == []
    assert not (tmp_path / "mine.json").exists()


@pytest.mark.parametrize("form", ["student", "solution", "both"])
def test_where_an_answer_cannot_be_judged_the_check_says_so_and_nothing_else(form, monkeypatch):
    monkeypatch.setattr(compiler, "_library", lambda: None)
    check = code('gl.check("saxpy_cpp", saxpy_cpp)', "check", "raises-exception")
    missing = Report(0, "error", "saxpy_cpp cannot be judged here: …", "MissingPackage", 2)
    notebook = new_notebook(cells=[check])

    def said(*reports):
        return [text for _, text in judged(Run(notebook, list(reports), last_cell=0), 1, form)]

    assert said(missing) == []
    unjudged = ["does not say in one sentence what is missing to judge an answer"]
    assert said() == unjudged
    assert said(replace(missing, error="WrongAnswer")) == unjudged
    assert said(replace(missing, lines=30)) == unjudged


def test_the_stub_of_an_exercise_in_cpp_is_a_text():
    known = ["saxpy_cpp"]
    assert stub_name(code('saxpy_cpp = r"""\n...\n"""'), known) == "saxpy_cpp"
    assert stub_name(code("saxpy_cpp = 3"), known) is None
    assert stub_name(code('other = "..."'), known) is None

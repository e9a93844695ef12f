"""`python -m simt run`: a program with its own arguments, and what was found in it."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from simt.errors import BadInput
from simt.programs.execution import run_notebook

KERNELS = """
import sys
import numpy as np
from numba import cuda
from beside import SIZE

@cuda.jit
def racy(a):
    a[0] += cuda.threadIdx.x

@cuda.jit
def over(a):
    i = cuda.grid(1)
    a[i] = i

print(__name__, sys.argv[1:], cuda.is_available())
a = cuda.to_device(np.zeros(SIZE))
"""

RACE = "program.py:9: race on a[0] in global memory"
BEYOND = "program.py:14: thread 8 of block 1 accesses a[40], out of bounds"


@pytest.fixture(scope="module")
def command(quick_python):
    def in_folder(folder, *arguments, python=quick_python):
        return subprocess.run(
            [python, "-W", "error", "-m", "simt", "run", *arguments],
            capture_output=True, text=True, check=False, cwd=folder,
        )  # fmt: skip

    return in_folder


@pytest.fixture
def run(tmp_path, command):
    def program(source, *arguments, options=(), **python):
        (tmp_path / "beside.py").write_text("SIZE = 40\n")
        (tmp_path / "program.py").write_text(KERNELS + source)
        return command(tmp_path, *options, "program.py", *arguments, **python)

    return program


def test_a_program_prints_what_it_prints_and_each_finding_is_told_once(run):
    source = "racy[2, 32](a)\nracy[2, 32](a)\nprint('end')"
    done = run(source, "-v", "--report", python=sys.executable)  # imports and all
    assert done.stdout.splitlines() == ["__main__ ['-v', '--report'] True", "end"]
    assert done.stderr.startswith(RACE)
    assert done.stderr.count("\n") == 1
    assert done.returncode == 0


def test_what_a_program_does_to_its_own_standard_error_hides_no_finding(run):
    done = run("import contextlib, io\nwith contextlib.redirect_stderr(io.StringIO()):\n"
               "    racy[2, 32](a)\n")  # fmt: skip
    assert done.stderr.startswith(RACE)


def test_a_finding_in_a_function_of_another_file_is_told_with_that_file(tmp_path, command):
    beside = "from numba import cuda\n\n\n@cuda.jit(device=True)\ndef add(a):\n    a[0] += 1\n"
    (tmp_path / "helpers.py").write_text(beside)
    (tmp_path / "program.py").write_text(
        "import numpy as np\nfrom numba import cuda\nfrom helpers import add\n\n\n"
        "@cuda.jit\ndef kernel(a):\n    add(a)\n\n\nkernel[1, 32](cuda.to_device(np.zeros(1)))\n"
    )
    done = command(tmp_path, "program.py")
    assert done.stderr.startswith("helpers.py:6: race on a[0] in global memory")
    assert done.stderr.count("\n") == 1


def test_an_error_ends_a_program_with_its_own_traceback(run):
    done = run("over[1, 32](a)\nover[2, 32](a)\nprint('not reached')")
    assert done.returncode == 1
    told, *lines = done.stderr.splitlines()
    assert told.startswith(BEYOND)
    assert lines[0] == "Traceback (most recent call last):"
    assert 'program.py", line 19, in <module>' in lines[1]
    assert lines[2] == "    over[2, 32](a)"
    assert lines[-1].startswith(
        "simt.errors.KernelError: line 14: thread 8 of block 1 accesses a[40]"
    )
    assert "simt/" not in done.stderr


def test_accesses_out_of_bounds_are_skipped_and_all_listed_if_one_asks_for_it(run):
    done = run("over[2, 32](a)\nprint(a.copy_to_host()[39])", options=["--keep-going"])
    assert done.stdout.splitlines() == ["__main__ [] True", "39.0"]
    assert done.stderr.startswith(BEYOND)
    assert done.returncode == 0


def test_the_exit_status_is_the_programs_own_unless_findings_decide(run):
    assert run("sys.exit(3)", options=["--sanitize"]).returncode == 3
    assert run("racy[2, 32](a)", options=["--sanitize"]).returncode == 1
    assert run("over[1, 32](a)", options=["--sanitize"]).returncode == 0
    done = run("sys.exit('no data')")
    assert (done.returncode, done.stderr) == (1, "no data\n")


@pytest.mark.usefixtures("_compiler")
def test_without_checks_no_race_is_looked_for(run):
    done = run("racy[2, 32](a)", options=["--fast", "--sanitize"])
    assert (done.returncode, done.stderr) == (0, "")


LOOPING = """
@cuda.jit
def sum_all(a):
    for i in range(3_000_000):
        a[0] += i % 7

sum_all[1, 1](a)
sum_all[1, 1](a)
print(a.copy_to_host()[0])
"""
CALLING = """
@cuda.jit(device=True)
def down(n):
    if n <= 0:
        return 0
    return 1 + down(n - 1)

@cuda.jit
def deep(a):
    a[cuda.grid(1)] = down(cuda.grid(1))

deep[1, 4](a)
"""


@pytest.mark.usefixtures("_compiler")
def test_a_kernel_that_is_no_machine_code_is_named_at_the_end(run):
    done = run(LOOPING + CALLING, options=["--fast"])
    assert done.stdout.splitlines()[-1] == str(float(2 * sum(i % 7 for i in range(3_000_000))))
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("deep did not run as machine code, and is slow: its threads")


def test_reports_are_written_of_every_kernel(tmp_path, run):
    source = "racy[2, 32](a)\nover[1, 32](a)\nover[1, 32](a)"
    run(source, options=["--report", "pages"])
    assert sorted(p.name for p in (tmp_path / "pages").iterdir()) == ["over.html", "racy.html"]
    assert "race" in (tmp_path / "pages" / "racy.html").read_text(encoding="utf-8")
    run(source, options=["--report", "all/page.html"])
    page = (tmp_path / "all" / "page.html").read_text(encoding="utf-8")
    assert page.count("<h2>") == 2
    assert "cuda.threadIdx.x" in page


def cell(source, *tags, kind="code"):
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": source}


def notebook(folder, *cells):
    folder.mkdir()
    (folder / "beside.py").write_text("SIZE = 40\n")
    written = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "lesson.ipynb").write_text(json.dumps(written))


@pytest.mark.skipif(find_spec("IPython") is None, reason="notebooks need IPython")
def test_a_notebook_runs_cell_by_cell_in_its_folder(tmp_path, command):
    notebook(
        tmp_path / "course",
        cell("# Title", kind="markdown"),
        cell(KERNELS.strip()),
        cell("racy[2, 32](a)\n6 * 7"),
        cell("1 / 0", "raises-exception"),
        cell("over[2, 32](a)"),
        cell("print('not reached')"),
    )
    done = command(tmp_path, "--sanitize", "course/lesson.ipynb")
    assert done.returncode == 1
    assert "__main__" in done.stdout
    assert "42" in done.stdout
    assert "KernelError" in done.stdout
    assert "not reached" not in done.stdout
    assert "\nlesson.ipynb, cell 5 failed: KernelError: line 13: thread 8" in done.stderr
    assert "lesson.ipynb, cell 2:8: race on a[0]" in done.stderr
    assert "lesson.ipynb, cell 2:13: thread 8 of block 1" in done.stderr
    done = command(tmp_path, "course/lesson.ipynb", "--fast")
    assert "lesson.ipynb is a notebook, which takes no arguments" in done.stderr


TIMED = """%%time
# its file is "<timed exec>"
from numba import cuda
import numpy as np
data = np.zeros(1)
@cuda.jit
def kernel(a):
    a[0] += cuda.threadIdx.x
kernel[1, 2](data)
data[0]
"""


@pytest.mark.skipif(find_spec("IPython") is None, reason="notebooks need IPython")
def test_a_kernel_of_a_timed_cell_has_its_text_there(tmp_path, command):
    notebook(
        tmp_path / "course",
        cell("%%bash\necho kernel"),
        cell(TIMED),
        cell("kernel[2, 1](data)\nprint('later', data[0])"),
        cell("%%capture kept\n" + TIMED.replace("+=", "=").replace("threadIdx.x", "grid(1) + 40")),
        cell("print('captured', data[0])"),
        cell("%%timeit -r1 -n1\n" + TIMED.split("\n", 1)[1].replace("cuda.threadIdx.x", "7")),
    )
    done = command(tmp_path, "course/lesson.ipynb")
    assert done.returncode == 0
    assert "later 1.0" in done.stdout
    assert "captured 41.0" in done.stdout
    assert "<timed exec>:7: race on a[0]" in done.stderr
    assert "<magic-timeit>:7: race on a[0]" in done.stderr


@pytest.mark.skipif(find_spec("IPython") is None, reason="notebooks need IPython")
def test_a_notebook_goes_on_after_a_cell_that_fails_if_one_asks_for_it(tmp_path, command):
    cells = [
        cell("open('no picture.png')"),
        cell("this is no Python"),
        cell("!python -c 'print(6 * 7)'"),
        cell("print('reached')"),
    ]
    notebook(tmp_path / "course", *cells)
    done = command(tmp_path, "--allow-errors", "--sanitize", "course/lesson.ipynb")
    assert done.returncode == 0
    assert "42" in done.stdout
    assert "reached" in done.stdout
    failed = done.stderr.splitlines()
    assert failed[0].startswith("lesson.ipynb, cell 1 failed: FileNotFoundError: [Errno 2]")
    assert failed[1].startswith("lesson.ipynb, cell 2 failed: SyntaxError: invalid syntax")
    assert failed[2].startswith("lesson.ipynb, cell 3: !python starts another process, whose")
    notebook(tmp_path / "races", cell("raise KeyError"), cell(TIMED))
    done = command(tmp_path, "--allow-errors", "--sanitize", "races/lesson.ipynb")
    assert done.returncode == 1
    notebook(tmp_path / "ended", cell("raise KeyboardInterrupt"), cell("print('reached')"))
    done = command(tmp_path, "--allow-errors", "ended/lesson.ipynb")
    assert (done.returncode, "reached" in done.stdout) == (1, False)


@pytest.mark.skipif(find_spec("IPython") is None, reason="notebooks need IPython")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a notebook, which is a JSON file: save it again"),
        (b"[" * 100_000, "is not a notebook, which is a JSON file: save it again"),
        (b'{"cells": ["\xe9"]}', "is not UTF-8 text: save it as UTF-8"),
        (b'{"worksheets": [], "nbformat": 3}', "has the notebook format 3: convert it to format 4"),
        (b'{"metadata": {"kernelspec": {"language": "julia"}}, "cells": []}', "written in 'julia'"),
        (b"{}", "its cells are not those of a notebook"),
        (b'{"cells": [{"cell_type": "code"}]}', "its cells are not those of a notebook"),
    ],
)
def test_what_is_no_notebook_in_python_is_told_in_a_sentence(tmp_path, content, said):
    (tmp_path / "lesson.ipynb").write_bytes(content)
    with pytest.raises(BadInput, match=f"^lesson.ipynb .*{said}"):
        run_notebook(tmp_path / "lesson.ipynb", allow_errors=False)


STREAMS = """
one, other = cuda.stream(), cuda.stream()
over[1, 32, one](a)
a.copy_to_device(cuda.pinned_array(SIZE), stream=other)
"""


def test_what_nobody_waited_for_is_told_too(run):
    done = run(STREAMS)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert any(
        line.startswith("program.py:21: the copy to the device on other writes a, which over of")
        for line in lines
    ), lines
    assert any("the host array was freed by the host after line 21" in line for line in lines)
    done = run("over[2, 32, cuda.stream()](a)\nprint('reached')")
    assert done.returncode == 1
    assert "reached" in done.stdout
    assert BEYOND in done.stderr


def test_a_device_array_that_is_written_and_never_read_is_told_at_the_end(run):
    told = "program.py:18: racy writes a, a device array, and nobody reads it afterwards"
    for end, warned in (("", True), ("print(a.copy_to_host()[0])\n", False)):
        done = run(f"racy[1, 1](a)\n{end}", options=["--sanitize"])
        assert (told in done.stderr) == warned
        assert done.returncode == 0

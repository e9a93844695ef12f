"""Verdicts on whole folders: honest answers get what `gl.check` says, hostile ones harm nobody.

Of hostile ones, one of each kind is tried; with `GPULEARN_GRADE_ALL=1` all are.
"""

import csv
import dataclasses
import hashlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import gpulearn
from gpulearn.errors import BadInput
from gpulearn.judge import trial
from gpulearn.judge.catalogue import find
from gpulearn.judge.exercise import Case
from gpulearn_grading import command_line, grading, rebuilt, settings, ways
from gpulearn_grading.apart import sandbox, server, student
from gpulearn_grading.apart.limits import Confinement, Limits
from gpulearn_grading.judge import Judge, Verdict, Worker, _kind
from gpulearn_grading.submissions import Submission, read
from simt.cpp.compiler import compiler_fault
from simt.programs.cuda.nvcc import host_fault

from . import honest
from .hostile import HOSTILE, MEMORY

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="grading copies processes")

OWN = Path(__file__).parents[1] / "gpulearn" / "judge" / "own" / "trapezoids.py"
EVERY = os.environ.get("GPULEARN_GRADE_ALL") == "1"
LIMITS = Limits(seconds=2, memory_mib=512, disk_mib=16, output_mib=1)
PACKAGE = Path(gpulearn.__file__).parent
# what no submission may change: lessons with their exercises, the judge, the grader
CLOSED = [PACKAGE / "judge", *(Path(f"{PACKAGE}_{name}") for name in ("lessons", "grading"))]
# of each way in which answers are tried
HONEST = (
    "matmul_flops", "crossover", "vector_add", "mirror", "clip_by_global_norm", "average_gradients",
)  # fmt: skip
RIGHT = "def matmul_flops(m, n, p):\n    return 2 * m * n * p\n"


def python(code, check=True):
    """A Python of its own that has carried code out."""
    return subprocess.run(
        [sys.executable, "-u", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True, text=True, check=check,
    )  # fmt: skip


WALLS = "from gpulearn_grading.apart import sandbox as s; exit(bool(s.in_namespaces()))"
walled = pytest.mark.skipif(
    python(WALLS, check=False).returncode != 0, reason="the system allows no namespaces"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the submissions of the others lie."""
    made = tmp_path_factory.mktemp("submissions")
    (made / "honest.py").write_text("2")
    (made / "results.csv").write_text("the results")
    return made


@contextmanager
def judging(tmp_path, hidden=(), limits=LIMITS):
    (tmp_path / "box").mkdir()
    with closing(Judge(Confinement(list(hidden), tmp_path / "box", limits))) as one:
        yield one


def in_a_classroom(limits):
    @pytest.fixture(scope="module")
    def judge(folder, tmp_path_factory):
        hidden = grading.hidden(folder, folder, settings.GradingSettings())
        with judging(tmp_path_factory.mktemp("judge"), hidden, limits) as one:
            yield one

    return judge


judge, patient = in_a_classroom(LIMITS), in_a_classroom(Limits())


def verdict(judge, tmp_path, text, place="matmul_flops", name="ann.py"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return judge.verdict(place, read(Submission("ann", (file,))))


@pytest.mark.parametrize("said", [["pid 7", "lacks ", "ready"], ["ready", "pid 7", "lacks "]])
def test_a_process_behind_walls_may_be_ready_before_its_warden_names_it(said):
    assert server._understood("\n".join(said)) == {"pid": "7", "lacks": "", "ready": ""}
    without = [line for line in said if line != "ready"]
    assert "before it was ready" in server._understood("\n".join(without))["failed"]
    told = "\n".join([*without, "failed OSError: no room"])
    assert server._understood(told) == {"failed": "OSError: no room"}


def children():
    """Processes that descend from this one, but for templates and judges, which may stay."""
    told = subprocess.run(
        ["ps", "-eo", "pid,ppid,stat,args"], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in told.stdout.splitlines()[1:]]
    mine, found = {str(os.getpid())}, []
    for pid, parent, state, command in sorted(rows, key=lambda row: int(row[0])):
        if parent in mine:
            mine.add(pid)
            dying = state.startswith(("Z", "X")) or command.startswith("[")  # its memory is gone
            if command.split()[0] != "ps" and not dying:
                found.append((pid, command))
    return found


def settled(running):
    """Whether nothing else is left once what was killed has been buried."""
    end = time.monotonic() + 60  # on a busy machine
    while (now := children()) != running and time.monotonic() < end:
        time.sleep(0.02)
    return now == running


def fingerprint(*folders):
    text = hashlib.sha256()
    for top in folders:
        assert Path(top).is_dir(), top
        for path in sorted(Path(top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                text.update(str(path).encode() + path.read_bytes())
    return text.hexdigest()


# --- hostile


def quick_hostile():
    for kind, ones in HOSTILE.items():
        for number, (text, kinds) in enumerate(ones if EVERY else ones[:1]):
            yield pytest.param(text, kinds, id=f"{kind}-{number}")


@walled
@pytest.mark.parametrize(("text", "kinds"), [*quick_hostile()])
def test_a_hostile_submission_costs_itself_only(judge, folder, tmp_path, text, kinds):
    before = fingerprint(folder, *CLOSED)
    running, most = children(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.01)
        text = text.replace("{folder!r}", repr(str(folder)))
        text = text.replace("{port}", str(server.getsockname()[1]))
        found = verdict(judge, tmp_path, text)
        with pytest.raises(TimeoutError):
            server.accept()
    assert found.kind in kinds, found
    assert found.hint
    assert len("".join(found.notes)) < 10_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < most + (256 << 10)  # KiB
    assert not any(map(os.path.exists, ("/tmp/forged", "/tmp/gpulearn-was-here")))
    assert fingerprint(folder, *CLOSED) == before
    assert settled(running)
    assert verdict(judge, tmp_path, RIGHT).passed


@walled
def test_a_notebooks_limit_of_memory_is_not_told_where_another_holds(judge, tmp_path):
    text = "def matmul_flops(m, n, p):\n    return bytearray(1 << 40)\n"
    found = verdict(judge, tmp_path, text)
    assert found.kind == "memory"
    assert "it takes more memory than it may; does" in found.hint


def test_what_it_did_is_named(judge, tmp_path):
    text = "import os, gpulearn as gl\ndef matmul_flops(m, n, p):\n    {}\n    return 2 * m * n * p"
    for line, note in (
        ("os.fork() or os._exit(0)", "starts processes"),
        ("open('/etc/motd', 'w')", "writes outside of its home"),
        ("import socket; socket.create_connection(('192.0.2.1', 9))", "reaches for the network"),
        ("import sys; sys.setprofile(None)", "takes the grader's look-out away"),
        ("gl.blocks_for.__code__ = (lambda n: 1).__code__", "takes the grader's look-out away"),
        ("gl.solution('matmul_flops')", "asks for the solution"),
    ):
        found = verdict(judge, tmp_path, text.format(line))
        assert any(one.startswith(note) for one in found.notes), (line, found)


FORGER = """
def forged():
    import sys
    frame = sys._getframe()
    while frame.f_code.co_name != "do_load":
        frame = frame.f_back
    kind, encoded = type(frame.f_locals["self"]), frame.f_globals["encoded"]
    kind.do_try = lambda self, case: {
        "result": encoded(self.exercise.expected(self.cases[case]))}

made = forged()

def momentum_step(theta, gradient, state, *, lr, momentum=0.9):
    made
    return theta, gradient
"""


@walled
def test_an_answer_does_not_say_that_it_is_right(patient, tmp_path):
    found = verdict(patient, tmp_path, FORGER, "momentum_step")
    assert not found.passed, found
    assert not found.reported
    assert ways.way("ring_all_reduce") == "outcomes"  # these the page names


READER = """
def fetched():
    import sys
    found, frame = {}, sys._getframe()
    while frame:
        text = str(frame.f_locals.get("text"))
        if "def trapezoid_area" in text:
            lines = text.split("def trapezoid_area")[1].split(chr(10) * 3)[0]
            exec("def trapezoid_area" + lines, found)
        frame = frame.f_back
    return found

made = fetched()

def trapezoid_area(x, y):
    return made["trapezoid_area"](x, y)
"""


@walled
def test_a_solution_of_the_instructors_stays_with_the_judge(judge, tmp_path):
    assert not verdict(judge, tmp_path, READER, f"{OWN}:trapezoid_area").passed
    left = rebuilt.without_solution(find(f"{OWN}:trapezoid_area"))
    assert "def trapezoid_area" in left
    assert "def trapezoid_area" not in left.split("raise NotImplementedError")[1]


@walled
def test_only_the_packages_are_seen_of_a_home_in_which_they_lie(tmp_path):
    home = PACKAGE.parent
    with socket.socket(socket.AF_UNIX) as server, judging(tmp_path, [home]) as one:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        for line in (
            f"import os; assert len(os.listdir({str(home)!r})) < 5",
            f"import socket; socket.socket(socket.AF_UNIX).connect('{tmp_path}/socket')",
        ):
            text = f"def matmul_flops(m, n, p):\n    {line}\n    return 2 * m * n * p\n"
            found = verdict(one, tmp_path, text)
            assert found.passed == line.startswith("import os"), (line, found)


def test_without_walls_it_refuses_until_that_is_said(classroom, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(sandbox.WITHOUT, "1")
    arguments = [str(classroom), "-o", str(tmp_path / "results.csv"), "-j", "1"]
    assert command_line.main(arguments) == 2
    told = capsys.readouterr().err
    assert "--no-walls" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "results.csv").exists()
    assert command_line.main([*arguments, "--no-walls"]) == 0
    assert capsys.readouterr().err.startswith("No walls round the answers")


@walled
@pytest.mark.skipif(compiler_fault() is not None, reason="needs NVRTC")
def test_cpp_is_compiled_behind_the_walls(judge, folder, tmp_path):
    """A header among the submissions is not there, and macros meet the limit of memory.

    Nor is there a file of the system's that no compiler needs.
    """
    right = find("saxpy_cpp").reference.text
    (folder / "shared.h").write_text("#define SHARED\n")
    include = f'#include "{folder}/shared.h"\n'
    bomb = "".join(f"#define A{n} {8 * f'A{n - 1} '}\n" for n in range(1, 10))
    bomb = "#define A0 1,\n" + bomb + "__device__ int many[] = {A9};\n"
    cases = (("", "passed"), (include, "wrong"), (bomb, ("wrong", *MEMORY, "ended")))
    for begin, kinds in (*cases, ('#include "/etc/passwd"\n', "wrong")):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = verdict(judge, tmp_path, f"saxpy_cpp = {begin + right!r}\n", "saxpy_cpp")
        assert found.kind in kinds, found
        assert ("#include" in begin) == ("cannot open source file" in found.hint)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + (100 << 10)  # KiB


@walled
@pytest.mark.skipif(host_fault() is not None, reason="needs nvcc")
def test_the_runtime_library_of_whole_programs_is_ready_and_nobody_changes_it(judge, tmp_path):
    text = (
        "import os\nfrom simt.programs.cuda.nvcc import runtime_library\n"
        "def matmul_flops(m, n, p):\n    file = runtime_library() / 'libcudart.so'\n"
        "    mine = str(file).startswith(os.environ['HOME'])\n"
        "    raise ValueError(file.exists(), mine, os.access(file, os.W_OK))\n"
    )
    assert "(True, False, False)" in verdict(judge, tmp_path, text).hint


@pytest.mark.skipif(sys.platform != "linux", reason="memory is watched in /proc")
def test_memory_that_processes_share_counts_once():
    """A parent's 200 MiB, which its three children only have, and 100 MiB of each of them."""
    code = """
        import os, signal
        from gpulearn_grading.apart.box import _private, _proportional, _tree
        before, kept = _proportional(os.getpid()), b"1" * (200 << 20)
        read, write = os.pipe()
        children = []
        for _ in range(3):
            children.append(child := os.fork())
            if not child:
                own = b"1" * (100 << 20)
                os.write(write, b"1")
                signal.pause()
        for _ in children:
            os.read(read, 1)
        for size in (_private, _proportional):
            print((sum(map(size, _tree(os.getpid(), 9))) - before) >> 20)
        for child in children: os.kill(child, signal.SIGKILL)
    """
    each, once = map(int, python(code).stdout.split())
    assert 500 <= once < 600 < 1100 <= each


@walled
def test_what_sleeps_gives_no_other_process_memory(tmp_path):
    text = (
        "import os, subprocess, time\ndef matmul_flops(m, n, p):\n"
        "    for _ in range(20):\n        subprocess.Popen(['sleep', '600'])\n"
        "    for _ in range(4):\n        if os.fork() == 0:\n"
        "            kept = bytearray(100 << 20)\n            break\n"
        "    time.sleep(600)\n"
    )
    with judging(tmp_path, limits=Limits(seconds=30, memory_mib=256)) as one:
        assert verdict(one, tmp_path, text).kind == "memory"


def test_a_compiler_has_a_time_and_what_it_lacks_is_named():
    opened = SimpleNamespace(ask=lambda *do, **what: time.sleep(9))
    one = ways.CompiledElsewhere(find("saxpy_cpp"), "", lambda: opened, Limits(seconds=0.01))
    for compiled in (lambda: one.compiled, lambda: one.elsewhere("a step")):
        with pytest.raises(TimeoutError):
            compiled()
    assert _kind("case_launch: cc1plus: out of memory allocating 6000 bytes") == "memory"


def test_a_judge_has_a_time_to_compare(judge, tmp_path, monkeypatch):
    monkeypatch.setattr("gpulearn_grading.judge.MAX_SECONDS", 0.1)
    monkeypatch.setattr("gpulearn_grading.judge.examined", lambda *what: time.sleep(9))
    assert verdict(judge, tmp_path, RIGHT).kind == "time"


def test_programs_that_the_library_starts_are_not_the_answers(monkeypatch):
    heard, one = [], student._Student()
    monkeypatch.setattr(trial, "tried", lambda *what: heard.append(not student.watch.quiet))
    one.cases = [Case("", ())]
    for kernel in ("multiply", ""):
        one.exercise = SimpleNamespace(kernel=kernel, ready=str)
        one.do_try(0)
    assert heard == [False, True]


@walled
def test_an_answer_sees_nothing_of_the_instructors_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "of the instructor")
    text = (
        "def matmul_flops(m, n, p):\n    text = open('/proc/self/environ').read()\n"
        "    raise ValueError('HOME=' in text, 'instructor' in text)\n"
    )
    with judging(tmp_path) as one:
        assert "(True, False)" in verdict(one, tmp_path, text).hint


def test_walls_that_cannot_stand_are_told(tmp_path, monkeypatch):
    """Where the system allows no namespaces, limits hold, and that is said."""
    monkeypatch.setenv(sandbox.WITHOUT, "1")
    with judging(tmp_path) as one:
        assert verdict(one, tmp_path, RIGHT).passed
        assert "namespaces" in one.lacks
        for kind in ("loops forever", "ends the process", "prints without end"):
            text, kinds = HOSTILE[kind][0]
            assert verdict(one, tmp_path, text).kind in kinds


@walled
def test_who_may_not_enter_is_left_where_he_is():
    """A system may make namespaces and then refuse the numbers of their users: nobody is half in.

    The refusal is planted where AppArmor's would come. Printed are the reason, whether this is
    still the old namespace, and what two children say: half in, only the first would start.
    """
    code = """
        import os, pathlib, subprocess
        from gpulearn_grading.apart import sandbox, server, student
        def refused(path, text):
            raise PermissionError(13, "refused", str(path))
        pathlib.Path.write_text = refused
        before = os.readlink("/proc/self/ns/user")
        print(sandbox.in_namespaces())
        print(os.readlink("/proc/self/ns/user") == before)
        for _ in range(2):
            subprocess.run(["echo", "child"], check=True)
    """
    why, *rest = python(code).stdout.splitlines()
    assert why.startswith("the system allows no namespaces here (")
    assert "/proc/self/setgroups" in why
    assert rest == ["True", "child", "child"]


# --- honest


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_is_told_what_check_says(patient, tmp_path, name):
    exercise = find(name)
    for text in honest.submissions(exercise, wrong=2, right=1):
        found = verdict(patient, tmp_path, text, name)
        assert ("" if found.passed else found.hint) == honest.told_by_check(exercise, text)


def test_answers_of_every_form(judge, tmp_path):
    forms = {
        "def matmul_flops(m, n, p):\n    ...\n": "not solved",
        "matmul_flops = lambda m, n, p: 2 * m * n * p\n": "passed",
        "from functools import partial\n"
        "matmul_flops = partial(lambda a, m, n, p: a * m * n * p, 2)\n": "passed",
        "class Flops:\n    def __call__(self, m, n, p): return 2 * m * n * p\n"
        "matmul_flops = Flops()": "passed",
        "def matmul_flops(m, n):\n    return 2 * m * n\n": "wrong",
        "def matmul_flops(m, n, p):\n    yield 2 * m * n * p\n": "wrong",
        "async def matmul_flops(m, n, p):\n    return 2 * m * n * p\n": "wrong",
        "import of_no_such_name\ndef matmul_flops(m, n, p):\n    return of_no_such_name\n":
            "raises",
        "other = 3\n": "missing",
        "from gpulearn.kernels.matmul import matmul_flops\n": "missing",
        "from gpulearn.kernels.matmul import matmul_flops as solved\nmatmul_flops = solved\n":
            "borrowed",
    }  # fmt: skip
    for text, kind in forms.items():
        assert verdict(judge, tmp_path, text).kind == kind, text
    assert verdict(judge, tmp_path, "{", name="ann.ipynb").kind == "unreadable"


def test_a_kernel_with_what_it_uses_of_its_notebook(judge, tmp_path):
    cells = [
        "try:\n    from numba import cuda\nexcept ImportError:\n    from gpulearn import cuda",
        "import numpy as np\nimport gpulearn as gl",
        "%timeit 3\nTHREE = np.float32(2) + 1\nLIMIT = 10**6",
        "@cuda.jit(device=True)\ndef added(a, b):\n    return a + b",
        "@cuda.jit\ndef vector_add(a, b, out):\n    i = cuda.grid(1)\n"
        "    if i < min(out.size, LIMIT):\n        out[i] = added(a[i], b[i])",
        'gl.check("vector_add", vector_add)',
    ]
    made = [{"cell_type": "code", "source": one.splitlines(keepends=True)} for one in cells]
    text = json.dumps({"cells": made})
    assert verdict(judge, tmp_path, text, "vector_add", "ann.ipynb").passed
    borrowed = "from gpulearn.kernels.vectors import vector_add as solved\nvector_add = solved\n"
    assert verdict(judge, tmp_path, borrowed, "vector_add").kind == "borrowed"


def test_an_exercise_of_the_instructor(judge, tmp_path):
    right = "def trapezoid_area(x, y):\n    pairs = zip(x, x[1:], y, y[1:])\n"
    right += "    return sum((b - a) * (c + d) / 2 for a, b, c, d in pairs)\n"
    assert verdict(judge, tmp_path, right, f"{OWN}:trapezoid_area").passed
    found = verdict(judge, tmp_path, right.replace(" / 2", ""), f"{OWN}:trapezoid_area")
    assert found.hint.endswith("that is twice the area: the mean of two heights is half their sum.")


def test_a_copy_of_the_instructors_file_is_no_answer(tmp_path):
    """Students have it beside their notebook, and it holds the solution."""
    made = tmp_path / "hw"
    (made / "ann").mkdir(parents=True)
    (made / "ann" / "answers.py").write_text("def trapezoid_area(x, y):\n    return 0.0\n")
    (made / "ann" / "trapezoids.py").write_text(OWN.read_text(encoding="utf-8"))
    (made / "ben").mkdir()
    for folder in (made, made / "ben"):  # ben's is all that he handed in
        (folder / "trapezoids.py").write_text(OWN.read_text(encoding="utf-8"))
    wanted = settings.GradingSettings(exercises=(f"{OWN}:trapezoid_area",))
    done = grading.grade(made, wanted, tmp_path / "journal", workers=1)
    assert [one.verdicts[0].kind for one in done.students] == ["wrong", "missing"]  # ann, ben


# --- settings


def test_settings_that_are_written_are_read_as_the_same(tmp_path):
    (tmp_path / "trapezoids.py").write_text(OWN.read_text(encoding="utf-8"))
    file = tmp_path / "grading.toml"
    file.write_text(
        'exercises = ["vector_add", "trapezoids.py:halve"]\npartial = ["halve"]\n'
        "best_attempt = true\n[weights]\nvector_add = 2\nhalve = 0.25\n"
        "[deadline]\ndue = 2023-11-14T22:13:20.5Z\ngrace_minutes = 15\nlost_per_day = 0.1\n"
        'most_lost = 0.5\ndue_for = { "Zoë" = 2027-01-15T08:00:00Z }\n'
        '[deadline.handed_in]\n\'Ann "A" B.\' = 2020-09-13T12:26:40Z\n"Zoë" = 2022-04-15 02:40:00\n'
        "[limits]\nseconds = 7.5\nmemory_mib = 1234\nprocesses = 3\n",
        encoding="utf-8",
    )
    read = settings.load(file)
    assert read.exercises == ("vector_add", f"{tmp_path.resolve() / 'trapezoids.py'}:halve")
    assert read.handed_in.keys() == {'Ann "A" B.', "Zoë"}
    file.write_text(settings.written(read.data), encoding="utf-8")
    assert settings.load(file) == read
    file.write_text(settings.written({}))
    assert settings.load(file) == settings.GradingSettings()


# --- a folder


@pytest.fixture
def classroom(tmp_path):
    made = tmp_path / "hw"
    made.mkdir()
    bodies = {"ann": "2 * m * n * p", "bob": "m * n * p", "=cy": "print('<b>') or 7"}
    for name, body in bodies.items():
        (made / f"{name}.py").write_text(f"def matmul_flops(m, n, p):\n    return {body}\n")
    os.utime(made / "bob.py", (1_800_000_000, 1_800_000_000))
    for name in ("ann", "=cy"):
        os.utime(made / f"{name}.py", (1_700_000_000, 1_700_000_000))
    (made / "grading.toml").write_text(
        'exercises = ["matmul_flops", "ridge_point"]\n[weights]\nmatmul_flops = 4\n'
        "[deadline]\ndue = 2023-11-13T00:00:00Z\nlost_per_day = 0.25\n"
        "[limits]\nseconds = 5\n"
    )
    return made


def test_a_folder_is_graded_and_not_twice(classroom, tmp_path, capsys, monkeypatch):
    output, closed, close = tmp_path / "results.csv", [], Worker.close
    monkeypatch.setattr(Worker, "close", lambda one: (close(one), closed.append(one._process)))
    (classroom / "loop.py").symlink_to("loop.py")
    assert command_line.main([str(classroom), "-o", str(output), "-j", "2", "--no-walls"]) == 0
    assert {one.returncode for one in closed} == {0}  # a judge that is killed leaves its files
    with output.open(newline="") as file:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}
    assert rows["ann", "matmul_flops"]["passed"] == "1"
    assert rows["ann", "matmul_flops"]["days_late"] == "2"  # 14 November, 22:13
    assert rows["ann", "matmul_flops"]["score"] == "2.0"  # 4 points, half of them lost
    assert rows["bob", "matmul_flops"]["score"] == "0.0"
    assert "each also takes an addition" in rows["bob", "matmul_flops"]["hint"]
    assert rows["'=cy", "matmul_flops"]["kind"] == "wrong"  # no formula for a spreadsheet
    assert rows["ann", "ridge_point"]["kind"] == "missing"
    data = json.loads(output.with_suffix(".json").read_text())
    assert [one["student"] for one in data["students"]] == ["=cy", "ann", "bob"]
    assert data["most"] == 5
    page = output.with_suffix(".html").read_text()
    assert "each also takes an addition" in page
    assert "http" not in page.replace("http-equiv", "")
    monkeypatch.setattr(grading, "Worker", None)  # whoever needs a judge fails
    first = output.read_text()
    assert command_line.main([str(classroom), "-o", str(output), "--no-walls"]) == 0
    assert output.read_text() == first
    told = capsys.readouterr()
    assert "3 students, 6 answers, 1 right" in told.out
    assert "loop.py: it is a link" in told.err


def worker(verdict):
    """What stands in for a process that judges."""
    return lambda *arguments: Mock(verdict=verdict)


def test_who_interrupts_it_keeps_what_is_graded_and_need_not_wait(tmp_path):
    folder, results = tmp_path / "class", tmp_path / "results.csv"
    folder.mkdir()
    (folder / "ann.py").write_text(RIGHT)
    (folder / "zoe.py").write_text("def matmul_flops(m, n, p):\n    while True: pass\n")
    (folder / "grading.toml").write_text("[limits]\nseconds = 3600\n")
    command = [sys.executable, "-m", "gpulearn", "grade", str(folder), "-o", str(results)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    command += ["-j", "1", "--no-walls"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not (journal := results.with_suffix(".journal")).is_file():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "stopped; the same command goes on from here" in said
    assert "Traceback" not in said
    (kept,) = map(json.loads, journal.read_text().splitlines())
    assert kept["passed"]


def test_another_package_judges_anew(classroom, tmp_path, monkeypatch):
    asked = []

    def verdict(submission, place):
        asked.append(place)
        return Verdict(place, False, "wrong"), ""

    monkeypatch.setattr(grading, "Worker", worker(verdict))
    wanted = settings.load(classroom / "grading.toml")
    for package, expected in (("one", 6), ("one", 6), ("as it was pulled later", 12)):
        monkeypatch.setattr(grading, "_package", lambda package=package: package)
        grading.grade(classroom, wanted, tmp_path / "journal", workers=1)
        assert len(asked) == expected


def test_a_judge_that_is_lost_costs_one_answer_only(classroom, tmp_path, monkeypatch):
    def lost(submission, place):
        raise grading.WorkerLost("the judge ended")

    monkeypatch.setattr(grading, "Worker", worker(lost))
    done = grading.grade(classroom, settings.GradingSettings(), tmp_path / "journal", workers=2)
    assert {v.kind for one in done.students for v in one.verdicts} == {"not judged"}
    assert "nothing is said of the answer" in done.students[0].verdicts[0].hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exercises = 3", "exercises is 3"),
        ('exercises = ["matmul_flop"]', "did you mean 'matmul_flops'"),
        ("wieghts = 3", "did you mean 'weights'"),
        ("[weights]\nmatmul_flops = -1", "give a number from 0 on"),
        ("[limits]\nseconds = 0", "above 0"),
        ("[limits]\nsecond = 3", "did you mean 'seconds'"),
        ("[deadline]\ndue = 3", "give date and time"),
        ("[deadline]\nlost_per_day = 10", "give a share from 0 to 1"),
        ("best_attempt = 1", "give true or false"),
        ('partial = ["matmul_flop"]', "did you mean 'matmul_flops'"),
        ("[deadline", "is no TOML"),
    ],
)
def test_settings_that_make_no_sense_are_told(tmp_path, text, said):
    file = tmp_path / "grading.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=said):
        settings.load(file)


def test_a_day_begun_is_a_day(tmp_path):
    one = settings.GradingSettings(
        due=1000.0, lost_per_day=0.3, handed_in={"bob": 1000.0}, due_for={"7": 9e9}
    )
    assert [one.days_late(["ann"], 1e3 + t) for t in (-5, 0, 1, 86400, 86401)] == [0, 0, 1, 1, 2]
    assert one.days_late(["bob"], 9e9) == one.days_late(["cleo", "7"], 9e9) == 0
    assert [round(one.kept(days), 9) for days in (0, 1, 4)] == [1.0, 0.7, 0.0]
    mild = dataclasses.replace(one, grace_minutes=10, most_lost=0.5)
    assert [mild.days_late(["ann"], 1000.0 + t) for t in (600, 601)] == [0, 1]
    assert mild.kept(4) == 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "is no folder"),
        ([".", "-o", "results.txt"], "ends in .csv"),
        ([".", "-o", "none/results.csv"], "There is no folder"),
        ([".", "-j", "-1"], "--jobs is -1"),
        ([".", "-e", "matmul_flop"], "did you mean"),
    ],
)
def test_a_command_that_makes_no_sense_is_told(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command_line.main([*arguments, "--no-walls"]) == 2
    assert said in capsys.readouterr().err

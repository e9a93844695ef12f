"""What is read of a submission, and what of it an answer needs."""

import ast
import inspect
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn_grading import rebuilt
from gpulearn_grading.apart.values import NotData, decoded, encoded
from gpulearn_grading.slices import answer_in, slice_of
from gpulearn_grading.submissions import (
    MAX_BYTES,
    MAX_CODE,
    MAX_LISTED,
    Statement,
    Submission,
    SubmittedCode,
    read,
    students,
)


def handed_in(tmp_path, text, name="ann.py"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return Submission("ann", (file,))


def notebook(*cells):
    made = [{"cell_type": "code", "source": [one], "metadata": {}, "outputs": []} for one in cells]
    return json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def needed(tmp_path, text, name):
    return [one.text.strip() for one in slice_of(read(handed_in(tmp_path, text)).statements, name)]


def test_a_slice_holds_what_an_answer_needs_and_no_more(tmp_path):
    text = """
from __future__ import annotations
import math, time
import numpy as np
time.sleep(1000)
scale = 3
math.sqrt(-1)
np.random.seed(7)
other = scale * time.time()
def helper(x):
    return scale * math.floor(x + 0.5 * np.random.rand())
def answer(x):
    return ...
print(answer(2))
table = {}
table["a"] = 1
for b in "bc":
    table.update({b: 2})
for c in "bc":
    math.sqrt(-2)
def answer(x, other=0):
    other = [n for n in (helper(x), table["b"])]
    return sum(other)
n = len(open("data.csv").read())
gl.check("answer", answer)
"""
    found = needed(tmp_path, text, "answer")
    assert found[0] == "from __future__ import annotations"
    joined = "\n".join(found)
    assert "sleep(1000)" not in joined
    assert "print" not in joined
    assert "other = scale" not in joined
    assert "data.csv" not in joined
    assert "sqrt" not in joined
    assert "np.random.seed(7)" in joined
    assert "return ..." not in joined
    assert "for b in" in joined
    space = {}
    exec("\n".join(found), space)
    assert space["answer"](2.5) == 8


def test_a_slice_of_an_unknown_name_is_empty(tmp_path):
    assert needed(tmp_path, "a = 1", "b") == []


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8), st.data())
def test_a_slice_gives_the_value_that_the_whole_program_gives(names, data):
    lines = []
    for number, name in enumerate(names):
        known = sorted(set(names[:number]))
        right = data.draw(st.sampled_from([str(number), *known]))
        lines.append(f"{name} = {right}" if right != name else f"{name} = {name} + 1")
    whole, part = {}, {}
    exec("\n".join(lines), whole)
    statements = []
    for line in lines:
        (node,) = ast.parse(line).body
        statements.append(Statement(node, line, line))
    exec("\n".join(one.text for one in slice_of(statements, names[-1])), part)
    assert part[names[-1]] == whole[names[-1]]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("import numpy as np", {"np"}),
        ("import numba.cuda", {"numba"}),
        ("a, (b, *c) = 1, (2, 3)", {"a", "b", "c"}),
        ("for i in range(3): j = i", {"i", "j"}),
        ("with open(x) as f: pass", {"f"}),
        ("def f(x): y = 1", {"f"}),
        ("a[0] = 1", set()),
        ("print(n := 3)", {"n"}),
    ],
)
def test_what_a_statement_binds(line, names):
    assert Statement(ast.parse(line).body[0], line, line).binds == names


def test_a_notebook_is_read_cell_by_cell(tmp_path):
    cells = (
        "%matplotlib inline\nimport math",
        "!ls\ndef f(x):\n    return 1",
        "def g(:",
        "%%bash\nls",
        "%%time\ndef h(x):\n    return 2",
    )
    code = read(handed_in(tmp_path, notebook(*cells), "ann.ipynb"))
    assert [one.text.strip() for one in code.statements if "import" in one.text] == ["import math"]
    for name in "fh":
        assert any(f"def {name}" in one.text for one in code.statements)
    ((said, cell),) = code.unread
    assert "line 1" in said
    assert cell == "def g(:"


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code"}]}'])
def test_a_damaged_notebook_costs_its_student_only(tmp_path, text):
    code = read(handed_in(tmp_path, text, "ann.ipynb"))
    assert code.statements == []
    assert "cannot be read" in code.unread[0][0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("é = 1".encode("latin-1"), "it is not in UTF-8: save it again in that encoding"),
        ("é = 1".encode("utf-16"), "it is not in UTF-8: save it again in that encoding"),
        (b'{"worksheets": []}', "its format is nbformat 3: save it again in JupyterLab"),
        (b"#" * (MAX_BYTES + 1), "it has more than 20 MiB"),
        (notebook("a\n" * MAX_CODE).encode(), "its code is longer than 256 KiB"),
    ],
)
def test_what_keeps_a_file_from_being_read_is_said(tmp_path, data, reason):
    file = tmp_path / "ann.ipynb"
    file.write_bytes(data)
    assert read(Submission("ann", (file,))).unread == [(f"ann.ipynb cannot be read ({reason})", "")]


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("a = 1; b = n" + ".a" * 900, "its expressions are nested more than 250 deep"),
        ("def f(a, a): pass", "line 1: duplicate argument 'a' in function definition"),
    ],
)
def test_a_cell_that_python_would_not_run_is_unread(tmp_path, cell, fault):
    code = read(handed_in(tmp_path, notebook(cell, "b = 1"), "ann.ipynb"))
    assert code.unread == [(fault, cell)]
    assert [one.text for one in code.statements] == ["b = 1\n"]


def test_magics_do_nothing_and_other_lines_that_begin_like_them_stay(tmp_path):
    cell = (
        'best = %timeit -o f(3)\nif best:\n    !ls\nrest = (7\n    % 4)\nkernel = """a\n? b"""\nf?'
    )
    code = read(handed_in(tmp_path, notebook(cell), "ann.ipynb"))
    assert code.unread == []
    space = {}
    exec("".join(one.text for one in code.statements), space)
    assert (space["best"], space["rest"], space["kernel"]) == (None, 3, "a\n? b")


@pytest.mark.parametrize("codec", ["rot13", "nonsense"])
def test_an_encoding_that_is_none_costs_its_student_only(tmp_path, codec):
    code = read(handed_in(tmp_path, f"# coding: {codec}\né = 1\n"))
    assert "it is not in UTF-8" in code.unread[0][0]


def test_thousands_of_statements_on_a_line_are_told_apart(tmp_path):
    code = read(handed_in(tmp_path, "é = 0; " + "a = 1; " * 20_000 + 'b = """x\x0cé\n"""; c = 2'))
    texts = [one.text for one in code.statements]
    assert texts[1:-2] == ["a = 1\n"] * 20_000
    assert texts[-2:] == ["b = 'x\\x0cé\\n'\n", "c = 2\n"]


def test_a_cell_of_many_magics_takes_them_for_what_they_look_like(tmp_path):
    cell = "x = 1\n" * 40_000 + "%time f()\n" * 200 + "y = 2"
    code = read(handed_in(tmp_path, notebook(cell), "ann.ipynb"))
    assert code.unread == []
    assert code.statements[-1].text == "y = 2\n"


def test_what_is_read_of_a_student_is_bounded(tmp_path):
    """The last modified files have room first, and of thousands of files the first are seen."""
    folder = tmp_path / "ann"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.py").write_text(f"a{number} = 1\n{'#' * (250 << 10)}\n")
        os.utime(folder / f"{number}.py", (number, number))
    for number in range(MAX_LISTED):
        (folder / f"old{number}").mkdir()
    (one,), left_out = students(tmp_path)
    code = read(one)
    assert [path.name for path in code.files] == [f"{n}.py" for n in range(1, 6)]
    assert code.unread == [("0.py cannot be read (there is too much in the later files)", "")]
    assert left_out == {folder: "of more than 1000 files and folders the first count"}


def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path):
    (tmp_path / "ANN.PY").write_bytes("# coding: latin-1\né = 1\n".encode("latin-1"))
    ((submission,), _) = students(tmp_path)
    assert [one.text for one in read(submission).statements] == ["é = 1\n"]


def test_each_notebook_file_and_folder_is_a_student(tmp_path):
    (tmp_path / "ann.py").write_text("a = 1")
    (tmp_path / "bob.ipynb").write_text(notebook("a = 1"))
    (tmp_path / "cy" / "deep").mkdir(parents=True)
    (tmp_path / "cy" / "deep" / "one.py").write_text("a = 1")
    (tmp_path / ".hidden.py").write_text("a = 1")
    (tmp_path / "notes.txt").write_text("no code")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "ann.ipynb").write_text(notebook("a = 2"))
    (tmp_path / "cy" / "all.zip").write_bytes(b"PK")
    os.utime(tmp_path / "ann.ipynb", (1, 1))
    (tmp_path / "deep").mkdir()
    inner = os.open(tmp_path / "deep", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=inner)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=inner)
    (tmp_path / "nested" / Path(*"n" * 200)).mkdir(parents=True)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)  # in place of a folder in a folder for each of Python's thousand
    try:
        submissions, left_out = students(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    files = {s.student: [file.name for file in s.files] for s in submissions}
    assert files == {
        "ann": ["ann.ipynb", "ann.py"],
        "bob": ["bob.ipynb"],
        "cy": ["one.py"],
        "deep": [],
        "nested": [],
    }
    assert {path.name: reason for path, reason in left_out.items()} == {
        "notes.txt": "it is neither a notebook nor a .py file",
        "all.zip": "unpack it: it is an archive",
        "link.py": "it is a link",
        "deep": "it cannot be read (File name too long)",
        "nested": "it cannot be read (its folders are nested too deep)",
    }


def test_the_last_answer_counts_and_a_stub_or_another_file_takes_nothing_from_it(tmp_path):
    stub = "def f(x):\n    ..."
    (tmp_path / "lib").mkdir()
    for when, (name, text) in enumerate({
        "late.py": f"{stub}\n",
        "lib/helper.py": "y = 1",
        "first.py": "a = 1\ndef f(x):\n    return 1",
        "last.ipynb": notebook("from lib.helper import y", "def f(x):\n    return y", stub),
        "after.py": f"y = 2\n{stub}",
    }.items()):  # fmt: skip
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (when, when))
    notes = {}
    submission = Submission("ann", tuple(tmp_path / name for name in (
        "late.py", "lib/helper.py", "first.py", "last.ipynb", "after.py")))  # fmt: skip
    code = read(submission)
    file, statements = answer_in(code, "f", notes)
    assert [one.text for one in statements] == [
        "from lib.helper import y\n", "def f(x):\n    return y\n"]  # fmt: skip
    assert notes == {"has several answers, the last counts": "first.py, last.ipynb"}
    assert code.beside(file)["lib/helper.py"] == "y = 1"
    only = SubmittedCode(dict([*code.files.items()][:1]))
    assert [one.text for one in answer_in(only, "f", notes)[1]] == [f"{stub}\n"]
    assert answer_in(code, "g", notes) == (None, [])
    variable = read(handed_in(tmp_path, "f = g()", "variable.py")).files
    assert answer_in(SubmittedCode(code.files | variable), "f", {})[0] == file


def test_a_folder_without_submissions_is_refused(tmp_path):
    with pytest.raises(BadInput, match="holds no submissions"):
        students(tmp_path)
    with pytest.raises(BadInput, match="is no folder"):
        students(tmp_path / "none")


# --- values


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(plain)
def test_data_arrives_as_it_was_sent(value):
    assert repr(decoded(encoded(value))) == repr(value)


FIELDS = [("a", "f4"), ("b", "i2")]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u8", "?", "c8", "U3", FIELDS])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_arrays_arrive_as_they_were_sent(dtype, shape):
    array = np.zeros(shape, dtype)
    got = decoded(encoded(array))
    assert got.dtype == array.dtype
    assert got.shape == shape
    assert got.flags.writeable or not shape


class Foreign:
    """Nothing that may travel."""

    def __reduce__(self):
        raise AssertionError("nobody may ask for that")


@pytest.mark.parametrize("value", [Foreign(), np.array([Foreign()]), print, {1: Foreign()}])
def test_what_is_no_data_is_refused_or_named(value):
    with pytest.raises(NotData):
        encoded(value)
    decoded(encoded(value, strict=False))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[1]", b'{"t": "os"}', b'{"t": "list"}', b'{"t": "int", "v": 3}',
        b'{"t": "dtype", "v": ["O"]}',
        b'{"t": "array", "v": ["O", 1, {"t": "bytes", "v": [""]}]}',
        b'{"t": "array", "v": ["<f8", 9, {"t": "bytes", "v": [""]}]}',
        b'{"t": "object", "v": ["os", "system", {"t": "dict", "v": []}]}',
        b'{"t": "object", "v": ["gpulearn.errors", "os.system", {"t": "dict", "v": []}]}',
        b'{"t": "object", "v": ["gpulearn_grading.apart.box", "Box", {"t": "dict", "v": []}]}',
        b'{"t": "object", "v": ["gpulearn.perf.gpus", "importlib.reload", {"t": "dict", "v": []}]}',
    ],
)  # fmt: skip
def test_what_was_not_written_by_us_is_no_value(text):
    with pytest.raises(ValueError):  # noqa: PT011 - of whatever kind
        decoded(text)


# --- what shows an answer to its judge


FORMS = (
    "def f(a, b=2, *, c={}):\n    raise SystemError(helper(a))\n",
    "@print\ndef f(a, b: print('run') = print('run')) -> print('run'):\n    raise SystemError(a)\n",
    "f = lambda a, b=print('run'): helper(a)\n",
    "f = [0][print('run') or 0] = lambda a, b=3: helper(a)\n",
    "def f(a):\n    try:\n        return [helper(x) for x in a]\n    finally:\n        a.clear()\n",
)


@pytest.mark.parametrize("text", FORMS)
def test_nothing_of_an_answer_runs_where_it_is_judged(tmp_path, text, capsys):
    """Neither when it is made nor when it is called, as an exercise's demand might do."""
    statements = read(handed_in(tmp_path, text.format("1"))).statements
    function = rebuilt.function_shown(statements, "f")
    argument = [1, 2]
    function(argument)
    assert argument == [1, 2]
    assert capsys.readouterr().out == ""
    if "def" in text:
        assert inspect.getsource(function).startswith(("def f", "@print"))
        rebuilt.forget()
        with pytest.raises(OSError, match="source"):
            inspect.getsource(function)


def test_a_kernel_is_rebuilt_from_modules_that_are_known_only(tmp_path):
    text = (
        "import os, numpy as np\nfrom os import system\nfrom gpulearn import cuda\n"
        "from numpy import f2py\nN = 4\nrun = os.system\nM = int('3')\n"
        "@cuda.jit\n@system\ndef k(out):\n    out[0] = N\n"
    )
    asked = []
    statements = slice_of(read(handed_in(tmp_path, text)).statements, "k")
    found = rebuilt.kernel(statements, "k", lambda names: asked.extend(names) or {})
    space = found.py_func.__globals__
    assert space["N"] == 4
    assert not {"os", "system", "f2py", "run"} & set(space)
    assert asked == []

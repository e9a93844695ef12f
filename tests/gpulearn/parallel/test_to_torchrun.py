"""A function of a notebook becomes a script that does what the cell did."""

import ast
import itertools
import linecache
import os
import runpy
import shutil
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.parallel.export.values import written
from tests.support.ready import ready_python

NUMBER = itertools.count()
IMPORTS = """
    import concurrent.futures
    import math
    from dataclasses import dataclass
    from functools import partial

    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils.data import DataLoader as Loader

    import gpulearn as gl
"""
CELLS = [
    IMPORTS,
    """
    RATE, SIZES = 0.5, [64, 32, 10]
    WRAPPERS = {"naive": gl.parallel.NaiveDataParallel, "over": gl.parallel.OverlappingDataParallel}
    kind = torch.float32
    data = gl.digits()
    images, labels = map(torch.from_numpy, data[:2])
    sgd = partial(torch.optim.SGD, lr=RATE)
    """,
    """
    @dataclass
    class Step:
        loss: float
        rank: int = 0

    class Counter:
        def __init__(self):
            self.count = 0

        def up(self):
            self.count += one(self)

    def one(counter):
        return 1 if isinstance(counter, Counter) else 0

    ones = {"one": one}
    """,
    """
    @torch.no_grad()
    def right(model):
        return int((model(images[:100]).argmax(1) == labels[:100]).sum())

    def learn(steps, wrapper="naive", make=sgd) -> list[Step]:
        \"\"\"Learn the digits.\"\"\"
        replica, counter = WRAPPERS[wrapper](gl.train.MLP(SIZES)), Counter()
        optimizer = make(replica.parameters())
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert pool.submit(math.sqrt, 4).result() == 2 * ones["one"](counter)
        found = []
        for batch in list(Loader(range(128), batch_size=64))[:steps]:
            mine = batch[gl.parallel.rank() :: gl.parallel.world_size()]
            optimizer.zero_grad()
            loss = functional.cross_entropy(replica(images[mine].to(kind)), labels[mine])
            loss.backward()
            replica.average()
            optimizer.step()
            counter.up()
            found.append(Step(loss.item(), gl.parallel.rank()))
        return found, counter.count, right(replica)
    """,
]


@pytest.fixture
def notebook():
    """Runs cells as a notebook's kernel does: their lines stay where tracebacks look for them."""
    names = {"__name__": "__main__"}
    folder = f"/tmp/ipykernel_{next(NUMBER)}"
    files = []

    def run(*cells):
        for cell in cells:
            text = textwrap.dedent(cell)
            file = f"{folder}/{next(NUMBER)}.py"
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            files.append(file)
            exec(compile(text, file, "exec", dont_inherit=True), names)
        return names

    yield run
    for file in files:
        linecache.cache.pop(file, None)


def run(*command, python=None):
    python = python or ready_python()  # torchrun asks the environment what starts its ranks
    environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "PYTHON_EXEC": python}
    done = subprocess.run(
        [python, *map(str, command)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_script_does_what_the_cell_did(notebook, tmp_path, capsys):
    names = notebook(*CELLS)
    file = gl.to_torchrun(names["learn"], tmp_path / "learn.py", 2, "over")
    assert capsys.readouterr().out.endswith(f"\n  torchrun --nproc-per-node 2 {file}\n")
    text = file.read_text()
    again = gl.to_torchrun(names["learn"], str(file), 2, "over", overwrite=True)
    assert again.read_text() == text
    for ranks in (1, 2):
        returned = gl.launch(names["learn"], ranks, 2, "over")
        wanted = [f"rank {rank} returned {result}" for rank, result in enumerate(returned)]
        if ranks == 1:
            assert run(file, python=sys.executable) == wanted  # a Python of its own
        else:
            assert run("-m", "torch.distributed.run", "--nproc-per-node", 2, file) == wanted
    for unused in ("import numpy", "from torch import nn"):
        assert unused not in text
    for line in (
        "from torch.utils.data import DataLoader as Loader",
        "import concurrent.futures",
        "SIZES = [64, 32, 10]",
        "images, labels = map(torch.from_numpy, data[:2])",
    ):
        assert text.splitlines().count(line) == 1
    if ruff := shutil.which("ruff"):  # every name is known, and every import used
        command = [ruff, "check", "--isolated", "--select", "F,B", str(file)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.fixture
def script(notebook, tmp_path, capsys):
    """Exports `f` of a notebook, and says what the script holds and what it prints."""

    def export(*cells, args=()):
        names = notebook(IMPORTS, *cells)
        file = gl.to_torchrun(names["f"], tmp_path / "f.py", *(names.get(a, a) for a in args))
        capsys.readouterr()
        runpy.run_path(str(file), run_name="__main__")
        return file.read_text(), capsys.readouterr().out

    return export


def test_a_function_without_a_result_is_only_called(script):
    text, said = script("def f():\n    print(gl.parallel.rank())")
    assert text.endswith(
        'if __name__ == "__main__":\n    with init_process_group():\n        f()\n'
    )
    assert said == "0\n"


def test_annotations_aliases_recursion_and_outer_names_are_kept(script):
    text, said = script(
        "from __future__ import annotations\n\ndef g(n: int) -> Tree:\n    return n and h(n - 1)\n"
        "h = g\nclass Empty:\n    size: int = 3\n\nseen = []\nwalls = [1.0, float('inf')]",
        "def f(n, *, kind=torch.float64):\n    global seen\n    seen = [h(n), Empty.size, walls]\n"
        "    return seen, kind",
        args=(2,),
    )
    assert "from __future__ import annotations" in text.splitlines()
    assert said == "rank 0 returned ([0, 3, [1.0, inf]], torch.float64)\n"


def test_an_argument_may_be_a_function_or_something_of_the_notebook(script):
    _, said = script(
        "x = torch.arange(3.0)\ndef double(v):\n    return 2 * v",
        "def f(g, v, more):\n    return g(v).tolist(), more(4)",
        args=("double", "x", torch.tensor),
    )
    assert said == "rank 0 returned ([0.0, 2.0, 4.0], tensor(4))\n"


def test_a_dataclass_of_a_script_is_found(tmp_path, monkeypatch, capsys):
    file, main = tmp_path / "mine.py", types.ModuleType("__main__")
    file.write_text(
        "import dataclasses\n\n@dataclasses.dataclass\nclass Point:\n    x: int = 3\n\n"
        "def f():\n    return Point(2).x\n"
    )
    main.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(compile(file.read_text(), file, "exec"), vars(main))
    runpy.run_path(str(gl.to_torchrun(main.f, tmp_path / "f.py")), run_name="__main__")
    assert capsys.readouterr().out.endswith("rank 0 returned 2\n")


REFUSED = [
    ("f = lambda: 1", "fn is a lambda, which has no name: write it with def"),
    ("g = lambda: 1\ndef f():\n    return g()", "g is a lambda"),
    ("def outer(n):\n    def f():\n        return n\n    return f\nf = outer(3)",
     "f uses n of the function around it"),
    ("def f():\n    return missing()", "f uses missing, which the notebook does not have"),
    ("def f():\n    return get_ipython().run_line_magic('time', '')", "f uses a magic"),
    ("x = torch.zeros(3)\nx += 1\ndef f():\n    return x",
     r"x, which f uses, is an array of shape \(3,\), which cannot be written"),
    ("x = torch.rand(3)\ndef f():\n    return x", "x, which f uses, is an array"),
    ("x = []\nx.append(x)\ndef f():\n    return x", "x, which f uses, is"),
    ("x = [1, object()]\nx[0] = 2\ndef f():\n    return x", "with an object of type object in it"),
    ("x = {1: gl.launch(int, 1, backend='simulated')[0], 2: np.ones(2)}\ndef f():\n    return x",
     "x, which f uses, is"),
    ("x = [0] * 5000\nx[3] = 1\ndef f():\n    return x", "too long for a script"),
    ("def g():\n    return 1\nold = g\ndef g():\n    return 2\ndef f():\n    return old() + g()",
     "under that name: rename one of them"),
    ("init_process_group = 3\ndef f():\n    return init_process_group",
     "f uses init_process_group for"),
    ("class A:\n    def f(self):\n        return 1\nf = A().f", "fn is <bound method A.f"),
    ("f = partial(int, 3)", "give a function that is defined with def, and its arguments after"),
    ("f = 3", "fn is 3"),
    ("def f():\n    yield 1", "fn is f, whose call only makes a generator and runs nothing of it"),
    ("async def f():\n    return 1", "whose call only makes a coroutine"),
    ("import dataclasses\n@dataclasses.dataclass\nclass f:\n    x: int = 3", "fn is the class f"),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "said"), REFUSED)
def test_what_cannot_be_written_is_named(notebook, tmp_path, cell, said):
    names = notebook(IMPORTS, cell)
    with pytest.raises(gl.errors.BadInput, match=said):
        gl.to_torchrun(names["f"], tmp_path / "f.py")
    assert list(tmp_path.iterdir()) == []


def test_lines_that_are_gone_are_told(notebook, tmp_path, monkeypatch):
    names = notebook("def f():\n    return 1")
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))  # other tests keep theirs
    linecache.cache.clear()
    with pytest.raises(
        gl.errors.BadInput, match="The lines that define f are gone: run its cell again"
    ):
        gl.to_torchrun(names["f"], tmp_path / "f.py")


def test_a_file_that_is_there_stays_unless_told(notebook, tmp_path, capsys):
    f = notebook("def f(x=1):\n    return x")["f"]
    file = tmp_path / "f.py"
    file.write_text("mine")
    with pytest.raises(gl.errors.BadInput, match="is there already: give overwrite=True"):
        gl.to_torchrun(f, file)
    with pytest.raises(gl.errors.BadInput, match="argument 2 is an array of shape"):
        gl.to_torchrun(f, file, 1, torch.zeros(2), overwrite=True)
    assert file.read_text() == "mine"
    for path, said in ((tmp_path / "f.txt", "the name of a script"), (3, "path is 3"),
                       (tmp_path / "no" / "f.py", "there is no folder")):  # fmt: skip
        with pytest.raises(gl.errors.BadInput, match=said):
            gl.to_torchrun(f, path)
    with pytest.raises(gl.errors.BadInput, match="timeout is -1"):
        gl.to_torchrun(f, file, overwrite=True, timeout=-1)
    gl.to_torchrun(f, file, overwrite=True, timeout=7)
    assert "init_process_group(timeout=7)" in file.read_text()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary() | st.complex_numbers(allow_infinity=False, allow_nan=False),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner)
    | st.frozensets(st.integers()) | st.sets(st.text()),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_a_value_comes_back_from_its_text(value):
    line = f"x = {written(value, lambda part: None)}"
    names = {}
    exec(compile(ast.parse(line), "<line>", "exec"), names)
    assert names["x"] == value
    assert type(names["x"]) is type(value)


def test_a_long_value_is_written_over_several_lines():
    value = {"sizes": list(range(100)), "names": ("a" * 50, "b" * 50)}
    assert all(len(line) <= 88 for line in written(value, lambda part: None).splitlines())


@pytest.mark.parametrize(
    "value",
    [np.float32(0.1), np.bool_(True), np.str_("it's"), np.float64("inf"), [{"a": np.uint8(7)}]],
)
def test_single_numbers_of_numpy_are_arguments(notebook, tmp_path, capsys, value):
    names = notebook(IMPORTS, "def f(value):\n    return value")
    script = gl.to_torchrun(names["f"], tmp_path / "f.py", value)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.endswith(f"rank 0 returned {value}\n")

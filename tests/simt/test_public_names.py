"""`import simt` is cheap, and each public name is there."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import simt
from simt.cpp import module as cpp_module
from simt.host import api

STUB = Path(simt.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
NAMES = [
    alias.asname
    for node in ast.parse(STUB).body
    if isinstance(node, ast.ImportFrom) and node.module != "typing"
    for alias in node.names
]


def test_import_loads_no_package_and_little_of_its_own():
    code = (
        "import sys, simt; "
        "print([m for m in sys.modules if m.startswith(('numpy', 'numba', 'simt'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(out.stdout) == ["simt.lazy", "simt"]


@pytest.mark.parametrize("name", NAMES)
def test_each_public_name_can_be_loaded(name):
    assert getattr(simt, name) is not None
    assert name in dir(simt)


def test_names_stand_for_what_they_say():
    assert simt.cuda is api
    assert simt.cpp is cpp_module.cpp  # though a folder has that name, too
    with pytest.raises(AttributeError, match="module 'simt' has no attribute 'cudda'"):
        _ = simt.cudda


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--help"], 0, "usage: python -m simt run [options] program.cu|script.py|notebook.ipynb"),
        (["walk"], 2, "argument command: invalid choice: 'walk'"),
        ([], 2, "the following arguments are required: command"),
        (["run", "nothing.py"], 2, "'nothing.py' is no file: give a script (.py), a notebook (.ip"),
    ],
)
def test_the_command_says_how_it_is_used(monkeypatch, capsys, arguments, status, message):
    from simt.__main__ import main

    monkeypatch.setattr(sys, "argv", ["simt", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == status
    printed = capsys.readouterr()
    assert message in printed.out + printed.err

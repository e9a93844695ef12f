"""The README's programs run, and the machine says of them what is printed there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import simt

README = (Path(simt.__file__).parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
FILES = {text.split()[1]: text for _, text in BLOCKS if re.match(r"(//|#) \S+\.\w+\n", text)}
CONSOLE = [text.split("\n", 1) for kind, text in BLOCKS if kind == "console"]
CODE = [text for kind, text in BLOCKS if kind == "python" and text not in FILES.values()]


def run(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("command", [shown.removeprefix("$ python ") for shown, _ in CONSOLE])
def test_a_program_is_told_what_is_printed(command, tmp_path, request):
    *_, name = shlex.split(command)
    if name.endswith(".cu"):
        request.getfixturevalue("_host_compiler")
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    expected = dict(CONSOLE)[f"$ python {command}"]
    assert run([sys.executable, *shlex.split(command)], tmp_path) == (0, expected)


@pytest.mark.usefixtures("_nvrtc")
def test_the_other_code_runs(tmp_path):
    assert len(CODE) == 1
    (tmp_path / "code.py").write_text(CODE[0], encoding="utf-8")
    status, printed = run([sys.executable, "code.py"], tmp_path)
    assert status == 0, printed
    assert "out[i] = a[32 * i]" in printed


def test_each_public_name_and_each_folder_is_in_the_readme():
    folder = Path(simt.__file__).parent
    for name in {path.parent.name for path in folder.glob("*/__init__.py")}:
        assert f"`{name}`" in README
    stub = folder.joinpath("__init__.pyi").read_text(encoding="utf-8")
    for name in re.findall(r"import \w+ as (\w+)", stub):
        assert f"simt.{name}" in README
    for path in re.findall(r"`(tests/simt/[\w/.]+)`", README):
        assert (folder.parent / path).exists()

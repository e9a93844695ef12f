"""The machine and its tests need nothing of the course: both could be a project of their own."""

import ast
import os
import re
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MACHINE = [file for folder in ("simt", "tests/simt") for file in (ROOT / folder).rglob("*.py")]
COURSE = re.compile(r"(gpulearn\w*|tools|tests(?!\.simt))(\.|$)")

# read by every Python that starts, those that tests start too
REFUSES = f"""
import re, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if re.match(r"gpulearn|tools(\\.|$)", name):
            raise ModuleNotFoundError(f"No module named {{name!r}}: the machine stands alone")

sys.meta_path.insert(0, Finder())
sys.path.insert(0, {str(ROOT)!r})
"""
# of the machine's tests a few of each kind, that take little time
SOME = (
    "test_public_names.py", "test_readme.py", "test_barriers.py", "test_errors.py",
    "ptx/test_executor.py", "cpp/test_stored.py",
)  # fmt: skip


def imported(file):
    """The modules that a file names in its imports, and in the sources that it holds as text."""
    text = file.read_text(encoding="utf-8")
    package = ".".join(file.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{module}.{alias.name}" for alias in node.names)
    yield from re.findall(r"(?:from|import) (gpulearn\w*)", text)


def test_no_file_of_the_machine_imports_the_course():
    taken = {
        file.relative_to(ROOT).as_posix(): names
        for file in MACHINE
        if (names := [name for name in imported(file) if COURSE.match(name)])
    }
    assert taken == {}


def test_its_tests_pass_where_the_course_cannot_be_imported(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(REFUSES)
    files = [str(ROOT / "tests" / "simt" / name) for name in SOME]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout

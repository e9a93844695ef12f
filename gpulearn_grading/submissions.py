"""Submissions: a notebook, a `.py` file or a folder for each student, and the code in them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gpulearn.errors import BadInput
from gpulearn.require import shorten

KINDS = (".ipynb", ".py")
MAX_BYTES = 20 << 20  # bytes of one file; beyond, it is no notebook that a person wrote
MAX_FILES = 50
# what IPython reads and Python does not: magics, shell commands, questions
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|\w[\w.]*\?{1,2}[^\S\n]*)$", re.MULTILINE)
CELL_MAGIC = re.compile(r"%%(?:time|timeit|prun|capture)\b.*\n")  # what follows is plain Python
CELL = re.compile(r"^# ?%%.*$", re.MULTILINE)  # as editors mark cells in a .py file


@dataclass(frozen=True)
class Submission:
    """What one student handed in."""

    student: str  # the name of the file or the folder
    files: tuple[Path, ...]  # those that hold code, the first modified last

    @property
    def moment(self) -> float:
        """When the last of its files was written, in seconds since 1970."""
        return max((file.stat().st_mtime for file in self.files), default=0.0)


class Statement(NamedTuple):
    """A statement at the top of a cell or a file."""

    node: ast.stmt  # its syntax tree, with the lines of its cell
    text: str  # its own text
    cell: str  # the text of its cell


@dataclass
class SubmittedCode:
    """The code of a submission."""

    statements: list[Statement] = field(default_factory=list)  # in the order of the files
    # cells that Python cannot read: what it says, and their text
    unread: list[tuple[str, str]] = field(default_factory=list)
    # text by name of the `.py` files that others may import
    modules: dict[str, str] = field(default_factory=dict)


def students(folder: Path) -> list[Submission]:
    """Each student's submission: every notebook, `.py` file and folder in a folder.

    What begins with a dot or an underscore is left out.
    """
    if not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is no folder: give the one that holds the submissions.")
    submissions = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")) or entry.is_symlink():
            continue
        if entry.is_dir():
            inside = [p for p in sorted(entry.rglob("*")) if _is_code(p, entry)]
            files = sorted(inside[:MAX_FILES], key=lambda path: path.stat().st_mtime)
            submissions.append(Submission(entry.name, tuple(files)))
        elif _is_code(entry, folder):
            submissions.append(Submission(entry.stem, (entry,)))
    if not submissions:
        raise BadInput(
            f"{str(folder)!r} holds no submissions: give each student a notebook (.ipynb), a .py "
            f"file or a folder of them."
        )
    return submissions


def _is_code(path: Path, below: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(below).parts)
    return path.suffix in KINDS and path.is_file() and not path.is_symlink() and not hidden


def read(submission: Submission) -> SubmittedCode:
    """The code of a submission, statement by statement; nothing of it is run."""
    code = SubmittedCode()
    for path in submission.files:
        try:
            cells = list(_cells(path))
        except (OSError, ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
            code.unread.append((f"{path.name} cannot be read ({shorten(str(error), 120)})", ""))
            continue
        for cell in cells:
            _add(code, cell)
        if path.suffix == ".py":
            code.modules[path.name] = "\n".join(cells)
    return code


def _cells(path: Path) -> Iterator[str]:
    """The cells of a notebook; of a `.py` file those between `# %%`, or all of it."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not in UTF-8: save it again in that encoding") from None
    if path.suffix == ".py":
        yield from CELL.split(text)
        return
    notebook = json.loads(text)
    if "worksheets" in notebook:
        raise ValueError("its format is nbformat 3: save it again in JupyterLab")
    for cell in notebook["cells"]:
        source = CELL_MAGIC.sub("", "".join(cell["source"]), count=1)
        if cell["cell_type"] == "code" and not source.startswith("%%"):
            yield MAGIC.sub(r"\1pass", source)


def _add(code: SubmittedCode, cell: str) -> None:
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        code.unread.append((line, cell))
        return
    lines = cell.splitlines(keepends=True)
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        begin = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
        assert node.end_lineno is not None
        text = "".join(lines[begin : node.end_lineno])
        if node.col_offset or not text.endswith("\n"):  # after a semicolon, or the last line
            text = (ast.unparse(node) if node.col_offset else text.rstrip("\n")) + "\n"
        code.statements.append(Statement(node, text, cell))

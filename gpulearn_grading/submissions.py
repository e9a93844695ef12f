"""Submissions: a notebook, a `.py` file or a folder for each student, and the code in them."""

from __future__ import annotations

import ast
import codecs
import hashlib
import json
import os
import re
import symtable
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from gpulearn.errors import BadInput
from gpulearn.require import shorten

KINDS = (".ipynb", ".py")
ARCHIVES = (".zip", ".tar", ".gz", ".7z", ".rar")
MAX_BYTES = 20 << 20  # of one file; beyond, it is no notebook that a person wrote
MAX_CODE = 256 << 10  # characters of its code; to read them takes a thousand times as much memory
MAX_ALL = 4  # times as much has a student's submission in all
MAX_DEPTH = 250  # of a syntax tree; Python's own functions on trees take some calls for each level
MAX_FILES = 50
MAX_LISTED = 1000  # files and folders of a student that are looked at
MAX_MAGICS = 16  # of a cell, of which each is tried
# what IPython reads and Python does not: magics, shell commands, questions
MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|\w[\w.]*\?{1,2}[^\S\n]*)$")
ASSIGNED = re.compile(r"^([ \t]*\w+[ \t]*=[ \t]*)[%!].*$")  # and what a name is given by them
SLOW = ("punycode", "idna")  # to decode them takes a time that grows with the square
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")  # as Python counts lines
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
# what comes of a file that is no notebook or script
UNREADABLE = (OSError, TypeError, KeyError, AttributeError, *NO_PYTHON[1:])
CELL_MAGIC = re.compile(r"%%(?:time|timeit|prun|capture)\b.*\n")  # what follows is plain Python
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
CELL = re.compile(r"^# ?%%.*$", re.MULTILINE)  # as editors mark cells in a .py file


@dataclass(frozen=True)
class Submission:
    """What one student handed in."""

    student: str  # the name of the file or the folder
    files: tuple[Path, ...]  # those that hold code, the last modified last

    @property
    def moment(self) -> float:
        """When the last of its files was written, in seconds since 1970."""
        return max((file.stat().st_mtime for file in self.files), default=0.0)

    @cached_property
    def digest(self) -> str:
        """What tells its text from any other."""
        total = hashlib.sha256()
        for file in self.files:
            try:
                size = file.stat().st_size
                data = file.read_bytes() if size <= MAX_BYTES else str(size).encode()
            except OSError as error:
                data = str(error).encode()
            total.update(hashlib.sha256(data).digest() + os.fsencode(file.name))
        return total.hexdigest()


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a cell or a file."""

    node: ast.stmt  # its syntax tree, with the lines of its cell
    text: str  # its own text
    cell: str  # the text of its cell

    @cached_property
    def _outside(self) -> list[ast.AST]:
        """Its nodes, but for what is within functions and classes."""
        nodes: list[ast.AST] = [self.node]
        for node in nodes:
            if not isinstance(node, (ast.Lambda, *FUNCTIONS)):
                nodes += ast.iter_child_nodes(node)
        return nodes

    @cached_property
    def binds(self) -> frozenset[str]:
        """The names that it binds."""
        names: set[str] = set()
        for node in self._outside:
            match node:
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                    names.add(name)
                case ast.Import(aliases) | ast.ImportFrom(names=aliases):
                    names |= {(one.asname or one.name).partition(".")[0] for one in aliases}
                case ast.Name(name, ast.Store()):
                    names.add(name)
        return frozenset(names)

    @property
    def defines(self) -> frozenset[str]:
        """The names that it gives a value of its own: an import only fetches one."""
        imports = isinstance(self.node, ast.Import | ast.ImportFrom)
        return frozenset() if imports else self.binds

    @cached_property
    def changes(self) -> frozenset[str]:
        """The names whose elements or attributes it sets, or whose method it calls alone."""
        bases = set()
        for node in self._outside:
            match node:
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                    base: ast.AST = node
                case ast.Expr(ast.Call(ast.Attribute() as base)):
                    pass
                case _:
                    continue
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name):
                bases.add(base.id)
        return frozenset(bases)


@dataclass
class SubmittedCode:
    """The code of a submission."""

    # by file, each a program of its own; the first modified first
    files: dict[Path, list[Statement]] = field(default_factory=dict)
    # cells that Python cannot read: what it says, and their text
    unread: list[tuple[str, str]] = field(default_factory=list)
    # path and text of the `.py` files, which others in their folder may import
    modules: dict[Path, str] = field(default_factory=dict)

    @property
    def statements(self) -> list[Statement]:
        """The statements of all files."""
        return [statement for statements in self.files.values() for statement in statements]

    def beside(self, path: Path) -> dict[str, str]:
        """What a file may import of the submission: text by path, from its folder on."""
        return {
            str(other.relative_to(path.parent)): text
            for other, text in self.modules.items()
            if other.is_relative_to(path.parent)
        }


def students(
    folder: Path, ours: Collection[Path] = (), own: Collection[str] = ()
) -> tuple[list[Submission], dict[Path, str]]:
    """Each student's submission, and what in the folder is none and why.

    Every notebook, `.py` file and folder is a submission; those of one name belong to one student.
    What begins with a dot or an underscore, and the grader's own files, are left out without a
    word. A file with one of the names `own` is a copy of the instructor's: it holds solutions.
    """
    if not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is no folder: give the one that holds the submissions.")
    files: dict[str, list[Path]] = {}
    left_out: dict[Path, str] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "_")) or folder.resolve() / entry.name in ours:
            continue
        within = [entry]
        try:
            if entry.is_dir() and not entry.is_symlink():
                listed = list(islice(_listed(entry), MAX_LISTED + 1))
                if len(listed) > MAX_LISTED:
                    left_out[entry] = f"of more than {MAX_LISTED} files and folders the first count"
                within = [p for p in listed[:MAX_LISTED] if p.is_symlink() or not p.is_dir()]
            reasons = {path: _no_code(path, own) for path in within}
        except (OSError, RecursionError) as error:  # such as a path that is too long
            why = getattr(error, "strerror", "its folders are nested too deep")
            left_out[entry] = f"it cannot be read ({why})"
            files.setdefault(entry.name, [])
            continue
        code = [path for path, reason in reasons.items() if not reason]
        reasons |= dict.fromkeys(code[MAX_FILES:], f"there are {MAX_FILES} files without it")
        left_out |= {path: reason for path, reason in reasons.items() if reason}
        if code or within != [entry] or entry.suffix.lower() in ARCHIVES:
            name = entry.name if within != [entry] else entry.stem
            files.setdefault(name, []).extend(code[:MAX_FILES])
    if not files:
        raise BadInput(
            f"{str(folder)!r} holds no submissions: give each student a notebook (.ipynb), a .py "
            f"file or a folder of them."
        )
    submissions = [
        Submission(name, tuple(sorted(paths, key=lambda path: path.stat().st_mtime)))
        for name, paths in sorted(files.items())
    ]
    return submissions, left_out


def _listed(folder: Path) -> Iterator[Path]:
    """What lies in a folder and those in it, in order; nothing that begins with a dot."""
    for path in sorted(islice(folder.iterdir(), MAX_LISTED * 10)):
        if not path.name.startswith("."):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from _listed(path)


def _no_code(path: Path, own: Collection[str]) -> str:
    """Why a path is no file with code, or ""."""
    if path.is_symlink():
        return "it is a link"
    if not path.is_file():
        return "it is no file"
    if path.suffix.lower() in ARCHIVES:
        return "unpack it: it is an archive"
    if path.name in own:
        return "it has the name of a file of your own exercises"
    return "" if path.suffix.lower() in KINDS else "it is neither a notebook nor a .py file"


def read(submission: Submission) -> SubmittedCode:
    """The code of a submission, statement by statement; nothing of it is run."""
    code = SubmittedCode()
    bytes_left, code_left = MAX_ALL * MAX_BYTES, MAX_ALL * MAX_CODE
    for path in reversed(submission.files):  # the last modified ones have room first
        try:
            bytes_left -= path.stat().st_size
            if min(bytes_left, code_left) < 0:
                raise ValueError("there is too much in the later files")
            cells = list(_cells(path))
            code_left -= (length := sum(map(len, cells)))
            if length > MAX_CODE:
                raise ValueError(f"its code is longer than {MAX_CODE >> 10} KiB")
        except UNREADABLE as error:
            why = shorten(str(error), 120) or "it takes too much memory"
            code.unread.append((f"{path.name} cannot be read ({why})", ""))
            continue
        code.files[path] = []
        for cell in cells:
            try:
                code.files[path] += _statements(cell)
            except SyntaxError as error:
                code.unread.append((f"line {error.lineno}: {error.msg}", cell))
            except NO_PYTHON as error:
                code.unread.append((str(error), cell))
        if path.suffix.lower() == ".py":
            code.modules[path] = "\n".join(cells)
    code.files = dict(reversed(code.files.items()))
    return code


def _cells(path: Path) -> Iterator[str]:
    """The cells of a notebook; of a `.py` file those between `# %%`, or all of it."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
    script = path.suffix.lower() == ".py"
    try:
        if script:
            with path.open("rb") as file:  # in the encoding that its first lines declare
                encoding = codecs.lookup(tokenize.detect_encoding(file.readline)[0]).name
            text = path.read_text("utf-8" if encoding in SLOW else encoding)
        else:
            text = path.read_text(encoding="utf-8-sig")
    except (UnicodeError, LookupError, SyntaxError):
        raise ValueError("it is not in UTF-8: save it again in that encoding") from None
    if script:
        yield from CELL.split(text)
        return
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", []), list):
        raise ValueError("it is no notebook")
    if "worksheets" in notebook:
        raise ValueError("its format is nbformat 3: save it again in JupyterLab")
    for cell in notebook["cells"]:
        source = CELL_MAGIC.sub("", "".join(cell["source"]), count=1)
        if cell["cell_type"] == "code" and not source.startswith("%%"):
            yield _without_magics(source)


def _without_magics(source: str) -> str:
    """A cell as Python reads it: a magic does nothing, and a name that it is given to is None."""
    lines = source.split("\n")
    plain = [ASSIGNED.sub(r"\1None", MAGIC.sub(r"\1pass", line)) for line in lines]
    magics = [n for n, line in enumerate(lines) if plain[n] != line]
    many = len(magics) > MAX_MAGICS  # to look at each would take long
    for number in magics:
        # else the line goes on with an expression or a text
        if many or _is_python("\n".join([*lines[:number], plain[number]])):
            lines[number] = plain[number]
    return "\n".join(lines)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except NO_PYTHON:
        return False
    return True


def _statements(cell: str) -> list[Statement]:
    tree = ast.parse(cell)
    _check_depth(tree)
    symtable.symtable(cell, "cell", "exec")  # refuses def f(a, a), too
    lines = LINE.findall(cell)
    statements = []
    for node in tree.body:
        if node.col_offset:  # after a semicolon
            text = ast.unparse(node)
        else:
            decorators = getattr(node, "decorator_list", [])
            begin = min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
            text = "".join(lines[begin : node.end_lineno])
        statements.append(Statement(node, f"{text.rstrip()}\n", cell))
    return statements


def _check_depth(tree: ast.AST) -> None:
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
        if depth > MAX_DEPTH:
            raise ValueError(f"its expressions are nested more than {MAX_DEPTH} deep")

"""Source of a function: its syntax tree, the names it can see, a number for each line."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import itertools
import linecache
import sys
import textwrap
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import dropwhile
from types import CodeType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.literals import folded, with_tuples
from simt.core.match import without_match
from simt.core.registry import is_namespace

MISSING = object()

# A running kernel says where it is by one number: which function, and which line of its
# file. Cells of a notebook all begin at line 1, so that a line alone would be ambiguous.
LINE_BITS = 24
_UNITS: WeakValueDictionary[int, Listing] = WeakValueDictionary()
_serial = itertools.count(1)


def unit(place: int) -> tuple[Listing, int]:
    """The function and the line for which a place stands."""
    return _UNITS[place >> LINE_BITS], place & ((1 << LINE_BITS) - 1)


class Listing:
    """A text whose lines a place can name, of a kernel or a function.

    `parameters` are the names of its parameters in order, `lines` the text by line; `file` is the
    file or the notebook cell that it stands in, or a name in its place.
    """

    def __init__(
        self, name: str, parameters: list[str], lines: dict[int, str] | None = None, file: str = ""
    ) -> None:
        self.name, self.parameters = name, parameters
        self.lines, self.file = lines or {}, file or f"<{name}>"
        self.unit = next(_serial)
        _UNITS[self.unit] = self


@dataclass
class KernelSource(Listing):
    """A function's text, its tree with the line numbers of the file, and its names."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    first_line: int
    text: str
    frozen: dict[str, Any] = field(default_factory=dict)  # what names stood for when first used

    def __post_init__(self) -> None:
        args = self.tree.args
        star = [args.vararg] if args.vararg else []
        names = [a.arg for a in [*args.posonlyargs, *args.args, *star, *args.kwonlyargs]]
        lines = dict(enumerate(self.text.splitlines(), self.first_line))
        super().__init__(self.tree.name, names, lines, self.function.__code__.co_filename)

    @cached_property
    def locals(self) -> set[str]:
        """The names that the function binds: its parameters and all it assigns to."""
        names = set(self.parameters)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and _stores(node):
                names.add(node.id)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.FunctionDef) and node is not self.tree:
                names.add(node.name)
        return names

    @cached_property
    def definitions(self) -> dict[str, ast.expr]:
        """The variables with a single assignment, and the expression assigned."""
        stored = [n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and _stores(n)]
        once = {name for name in stored if stored.count(name) == 1} - set(self.parameters)
        return {
            target.id: node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in once
        }

    def literal(self, node: ast.expr) -> Any:
        """The number or string that an expression is to Numba; `MISSING` if none."""
        for _ in self.definitions:  # no chain of names is longer
            node = self.definitions.get(node.id, node) if isinstance(node, ast.Name) else node
        value = MISSING
        if isinstance(node, ast.Name) and node.id not in self.locals:
            value = self.lookup(node.id)
        else:
            value = folded(node)
        return value if type(value) in (bool, int, str) else MISSING

    def afresh(self) -> KernelSource:
        """A copy of the source whose names are not looked up yet."""
        return replace(self, frozen={})

    def lookup(self, name: str) -> Any:
        """What a name that is not local stands for: closure, global, builtin or `MISSING`."""
        if name in self.frozen:
            return self.frozen[name]
        code = self.function.__code__
        if name in code.co_freevars:
            cell = (self.function.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return self.keep(name, cell.cell_contents)
            except ValueError:  # not assigned yet
                pass
        module = self.function.__globals__
        return self.keep(name, module.get(name, getattr(builtins, name, MISSING)))

    def keep(self, path: str, value: Any) -> Any:
        """Freezes the object that a name or dotted name stands for, as compiling does."""
        if value is MISSING:
            return value
        if path not in self.frozen:
            self.frozen[path] = value.copy("A") if isinstance(value, np.ndarray) else value
        return self.frozen[path]

    def named(self, node: ast.expr) -> Any:
        """What a name or dotted name stands for before the kernel runs; `MISSING` if nothing."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute) and is_namespace(base := self.named(node.value)):
            return self.keep(ast.unparse(node), getattr(base, node.attr, MISSING))
        return MISSING


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store | ast.Del)


def _refuse(function: Callable[..., Any], why: str) -> Stop:
    name = getattr(function, "__name__", repr(function))
    return Stop(Finding("not-a-kernel", None, f"{name} {why}"))


NO_SOURCE = (
    "has no source text, as no function has that exec() makes: write it in a file or in a "
    "notebook cell; or give the text a name, linecache.cache[name] = "
    "(len(text), None, text.splitlines(True), name), and exec(compile(text, name, 'exec'))"
)


_TEXTS: deque[tuple[str, str]] = deque(maxlen=4096)  # what exec() was given: file name, text


@cache
def remember_texts() -> None:
    """From now on a function that exec() makes has source text, in this process."""
    sys.addaudithook(_audit_hook)


def _audit_hook(event: str, details: tuple[Any, ...]) -> None:
    if event == "compile" and isinstance(details[0], bytes) and str(details[1])[:1] == "<":
        _TEXTS.append((details[1], details[0].decode(errors="replace")))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code objects in a code object."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _cells() -> Iterator[str]:
    """What IPython has run by a magic such as `%%time`, the latest first, without its line."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    for cell in reversed(shell.history_manager.input_hist_raw if shell else ()):
        lines = cell.lstrip().split("\n")
        body = list(dropwhile(lambda line: line.startswith("%%"), lines))
        if body != lines:
            yield shell.transform_cell("\n".join(body))


def _texts(code: CodeType) -> Iterator[str]:
    """Texts that are in no file, of which one may have become `code`."""
    yield from (text for file, text in reversed(_TEXTS) if file == code.co_filename)
    if code.co_filename.startswith("<"):
        yield from _cells()


def _source_lines(function: Callable[..., Any]) -> tuple[list[str], int]:
    """The source lines that contain a function, and the index of its first."""
    code = function.__code__
    for text in _texts(code):
        if code.co_name.strip("<>") in text:
            with suppress(SyntaxError):  # a cell may be in another language
                if _compiles_to(text, code):
                    return text.splitlines(keepends=True), code.co_firstlineno - 1
    lines, start = inspect.findsource(function)  # getsource would read what it wraps
    # from Python 3.13 on that is the program of `python -c`, whatever exec() was given
    if code.co_filename == "<string>" and not _compiles_to("".join(lines), code):
        raise OSError("another text of this name")
    return lines, start


def _compiles_to(text: str, code: CodeType) -> bool:
    """Whether `code` is in what this text is compiled to."""
    flags = code.co_flags & __future__.annotations.compiler_flag
    compiled = compile(text, "", "exec", flags, dont_inherit=True)
    nested = inspect.CO_NESTED  # in a function, as `%%timeit` puts it
    return any(code in (c, c.replace(co_flags=c.co_flags | nested)) for c in _codes(compiled))


def _parse(text: str) -> ast.AST:
    """The tree of a definition, even where a comment in it is indented less."""
    if not text[:1].isspace():
        return ast.parse(text)
    return ast.increment_lineno(ast.parse("if 1:\n" + text), -1)


def _find(tree: ast.AST, name: str) -> ast.FunctionDef | None:
    """The first definition of `name`."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return next((node for node in nodes if node.name == name), None)


def _lambda(tree: ast.AST, code: CodeType) -> ast.Lambda | None:
    """The lambda that became `code`: the smallest with all its instructions."""
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    begin = min(((p[0], p[2]) for p in places), default=(0, 0))
    end = max(((p[1], p[3]) for p in places), default=(0, 0))
    lambdas = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and (node.lineno, node.col_offset) <= begin
        and end <= (node.end_lineno, node.end_col_offset)
    ]
    return max(lambdas, key=lambda node: (node.lineno, node.col_offset), default=None)


def _read_lambda(function: Callable[..., Any]) -> KernelSource:
    """A lambda, as a definition; the source around it is read to find it."""
    lines, _ = _source_lines(function)
    node = _lambda(ast.parse("".join(lines)), function.__code__)
    if node is None:
        raise _refuse(function, "is not to be found where it was written")
    definition = ast.FunctionDef("a_lambda", node.args, [ast.Return(node.body)], [])
    tree = ast.fix_missing_locations(ast.copy_location(definition, node))
    text = "".join(lines[node.lineno - 1 : node.end_lineno])
    return KernelSource(function, with_tuples(tree), node.lineno, textwrap.dedent(text))


def read(function: Callable[..., Any]) -> KernelSource:
    """Finds the source of a function and parses it."""
    if not inspect.isfunction(function):
        raise _refuse(function, "is not a Python function")
    code = function.__code__
    linecache.checkcache(code.co_filename)
    try:
        if code.co_name == "<lambda>":
            return _read_lambda(function)
        lines, start = _source_lines(function)
        block = "".join(inspect.getblock(lines[start:]))
        text = textwrap.dedent(block)
        tree = _find(_parse(text), code.co_name)
    except (OSError, TypeError, IndexError):
        raise _refuse(function, NO_SOURCE) from None
    except SyntaxError:
        raise _refuse(function, "has source text that cannot be read on its own") from None
    if tree is None:
        raise _refuse(function, "is not defined by a def statement")
    ast.increment_lineno(tree, start)
    indent = len(block.partition("\n")[0]) - len(text.partition("\n")[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return KernelSource(function, with_tuples(without_match(tree)), start + 1, text)

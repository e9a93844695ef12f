"""An answer made anew from its text, without running a line of it.

A kernel is a text that the SIMT machine carries out, and so is a kernel in CUDA C++: the judge
reads them itself. What is run to define them is a `def` without decorators, defaults and
annotations, and imports of a few modules that are known; `cuda.jit` is put over it by the judge.
Of an ordinary function the result is never called: it shows the judge the answer's signature, its
names and its source, while the answer itself runs elsewhere.
"""

from __future__ import annotations

import ast
import dis
import importlib
import itertools
import linecache
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from gpulearn.judge.catalogue import exercises_of
from gpulearn.judge.exercise import Exercise
from gpulearn_grading.submissions import Statement

# importing them, or from them, runs nothing of a student's
MODULES = frozenset((
    "__future__", "math", "operator", "numpy", "numba", "numba.cuda", "numba.types",
    "numba.cuda.random", "numba.core.types", "gpulearn", "gpulearn.cuda", "gpulearn.kernels",
))  # fmt: skip
CUDA = frozenset(("simt.host.api", "numba.cuda"))  # what `gpulearn.cuda` may be
JIT = ("jit", "njit")
MISSING = object()
# what `ast.literal_eval` raises
NO_LITERAL = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_number = itertools.count()

Values = Callable[[list[str]], Mapping[str, Any]]
Forget = Callable[[], None]


def kernel(statements: Sequence[Statement], name: str, values: Values) -> tuple[Any, Forget]:
    """A kernel from its slice; what forgets its text again.

    `values` gives global values that only running code can tell, by name, as data.
    """
    space: dict[str, Any] = {"__name__": "submission"}
    unknown: list[str] = []
    files: list[str] = []
    for part in statements:
        # of `try: from numba import cuda` the first way is taken
        for node in part.node.body if isinstance(part.node, ast.Try) else [part.node]:
            if isinstance(node, ast.Import | ast.ImportFrom):
                with suppress(ImportError):
                    _import(node, space)
            elif not isinstance(node, ast.FunctionDef) and not _assigned(node, space):
                unknown += sorted(Statement(node, "", "").binds)
    if unknown:
        space |= values(unknown)
    for part in statements:
        if isinstance(part.node, ast.FunctionDef):
            function = _defined(part, space, files)
            space[part.node.name] = _decorated(function, part.node.decorator_list, space)
    for part in statements:  # kernel = cuda.jit(function)
        _assigned(part.node, space)
    return space.get(name), lambda: _forget(files)


def function_shown(statements: Sequence[Statement], name: str) -> tuple[Any, Forget]:
    """A function like the answer, to be looked at and not called; None if it is no function."""
    files: list[str] = []
    space: dict[str, Any] = {"__name__": "submission"}
    for statement in reversed(statements):
        node = statement.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return _lifeless(_defined(statement, space, files)), lambda: _forget(files)
        if isinstance(node, ast.Assign) and name in statement.binds:
            if not isinstance(node.value, ast.Lambda):
                break
            (copy,) = ast.parse(statement.text).body
            assert isinstance(copy, ast.Assign)
            copy.targets = [ast.Name(name, ast.Store())]  # to find another one would run code
            bare = ast.fix_missing_locations(_without_defaults(copy))
            exec(compile(ast.Module([bare], []), "<lambda>", "exec"), space)
            return _lifeless(space[name]), lambda: None
    return None, lambda: None


def without_solution(exercise: Exercise) -> str:
    """The file of an exercise of the instructor's, in which its solutions only have their names."""
    tree = ast.parse(Path(exercise.file).read_text("utf-8"))
    solutions = exercises_of(exercise.file)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in solutions:
            refusal = "raise NotImplementedError('the solution stays with the judge')"
            node.body = ast.parse(refusal).body
    return ast.unparse(tree)


def text_of(statements: Sequence[Statement], name: str) -> str | None:
    """The text that a name stands for, as a literal or as the argument of `gl.cpp`."""
    for statement in reversed(statements):
        if isinstance(statement.node, ast.Assign) and name in statement.binds:
            value = statement.node.value
            if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("cpp"):
                value = value.args[0] if value.args else value
            text = value.value if isinstance(value, ast.Constant) else None
            return text if isinstance(text, str) else None
    return None


def _import(node: ast.Import | ast.ImportFrom, space: dict[str, Any]) -> None:
    """Carry out an import of a module that is known; another one binds nothing."""
    if isinstance(node, ast.Import):
        for item in node.names:
            if item.name in MODULES:
                module = importlib.import_module(item.name)
                top = item.name.partition(".")[0]
                space[item.asname or top] = module if item.asname else importlib.import_module(top)
        return
    home = node.module or ""
    ours = home.startswith(("gpulearn.kernels.", "gpulearn_lessons."))
    if (home in MODULES or ours) and not node.level:
        module = importlib.import_module(home)
        stars = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
        for alias in node.names:
            for name in stars if alias.name == "*" else [alias.name]:
                if f"{home}.{name}" in MODULES:  # an attribute only once it is imported
                    importlib.import_module(f"{home}.{name}")
                value = getattr(module, name, MISSING)
                known = not isinstance(value, ModuleType) or value.__name__ in MODULES | CUDA
                if value is not MISSING and known:
                    space[alias.asname or name] = value


def _assigned(node: ast.stmt, space: dict[str, Any]) -> bool:
    """Whether an assignment could be carried out without running anything: a literal, an alias."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return isinstance(node, ast.FunctionDef)
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Name):
        return False
    with suppress(*NO_LITERAL):
        space[target.id] = ast.literal_eval(value)
        return True
    try:
        if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
            inner = value.args[0]
            if isinstance(inner, ast.Name) and isinstance(space.get(inner.id), FunctionType):
                space[target.id] = _decorated(space[inner.id], [value.func], space)
                return True
            return False
        space[target.id] = _followed(value, space)
    except LookupError:
        return False
    return True


def _followed(node: ast.expr, space: Mapping[str, Any]) -> Any:
    """What a dotted name stands for, as far as it leads through modules that are known."""
    if isinstance(node, ast.Name):
        return space[node.id]
    if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
        base = _followed(node.value, space)
        value = getattr(base, node.attr, None) if isinstance(base, ModuleType) else None
        elsewhere = isinstance(value, ModuleType) and value.__name__ not in MODULES | CUDA
        if value is not None and not elsewhere:
            return value
    raise LookupError(ast.unparse(node))


def _decorated(function: Any, decorators: Sequence[ast.expr], space: Mapping[str, Any]) -> Any:
    """A function under those of its decorators that compile it, with their plain options."""
    for d in reversed(decorators):
        name, keywords = (d.func, d.keywords) if isinstance(d, ast.Call) else (d, [])
        try:
            jit = _followed(name, space)
        except LookupError:
            continue
        if getattr(jit, "__name__", "") in JIT:
            options = {
                word.arg: word.value.value
                for word in keywords
                if word.arg not in (None, "cache") and isinstance(word.value, ast.Constant)
            }
            function = jit(**options)(function) if options else jit(function)
    return function


def _defined(statement: Statement, space: dict[str, Any], files: list[str]) -> Any:
    """The function of a `def`; its globals are the space, its text can be found."""
    node = statement.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    filename = f"<submission {next(_number)}>"
    cell = statement.cell
    linecache.cache[filename] = len(cell), None, cell.splitlines(keepends=True), filename
    files.append(filename)
    begin = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    (bare,) = [n for n in ast.parse(cell).body if getattr(n, "lineno", 0) == node.lineno]
    code = compile(ast.Module([_without_defaults(bare)], []), filename, "exec", dont_inherit=True)
    exec(code, space)
    function = space[node.name]
    function.__code__ = function.__code__.replace(co_firstlineno=begin)
    return function


def _lifeless(function: Any) -> Any:
    """A function of which nothing runs if it is called: its first constant comes back.

    Its names, lines and signature are what they were.
    """
    names = ("RESUME", "LOAD_CONST", "RETURN_VALUE")
    nothing = bytes(byte for name in names for byte in (dis.opmap[name], 0))
    function.__code__ = function.__code__.replace(co_code=nothing, co_exceptiontable=b"")
    return function


def _without_defaults(node: ast.stmt) -> ast.stmt:
    """A definition of which nothing runs when it is made."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.decorator_list, node.returns = [], None
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            inner.annotation = None
    args = node.value.args if isinstance(node, ast.Assign) else node.args  # type: ignore[attr-defined]
    args.defaults = [_constant(default) for default in args.defaults]
    args.kw_defaults = [default and _constant(default) for default in args.kw_defaults]
    return node


def _constant(node: ast.expr) -> ast.expr:
    try:
        ast.literal_eval(node)
        return node
    except NO_LITERAL:
        return ast.copy_location(ast.Constant(None), node)


def _forget(files: Sequence[str]) -> None:
    for file in files:
        linecache.cache.pop(file, None)

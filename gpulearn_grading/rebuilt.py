"""An answer made anew from its text, without running a line of it.

A kernel is a text that the SIMT machine carries out: the judge reads it itself. What is run to
define it is a `def` without decorators, defaults and annotations, and imports of a few modules that
are known; `cuda.jit` is put over it by the judge. Of an ordinary function the result is never
called: it shows the judge the answer's signature, its names and its source, while the answer itself
runs elsewhere.
"""

from __future__ import annotations

import ast
import dis
import importlib
import itertools
import linecache
import sys
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
OURS = ("gpulearn.kernels.", "gpulearn_lessons.")
CUDA = frozenset(("simt.host.api", "numba.cuda"))  # what `gpulearn.cuda` may be
JIT = ("jit", "njit")
FILE = "<submission {}>"  # by which a text is found
# what `ast.literal_eval` raises
NO_LITERAL = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_number = itertools.count()

Values = Callable[[list[str]], Mapping[str, Any]]


def kernel(statements: Sequence[Statement], name: str, values: Values) -> Any:
    """A kernel from its slice, until `forget`.

    `values` gives global values that only running code can tell, by name, as data.
    """
    space: dict[str, Any] = {"__name__": "submission"}
    unknown: list[str] = []
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
            function = _defined(part, part.node.name, space)
            space[part.node.name] = _decorated(function, part.node.decorator_list, space)
    for part in statements:  # kernel = cuda.jit(function)
        _assigned(part.node, space)
    return space.get(name)


def function_shown(statements: Sequence[Statement], name: str) -> Any:
    """A function like the answer, to be looked at, until `forget`; None if it is no function.

    Nothing runs if it is called: its first constant comes back.
    """
    for part in reversed(statements):
        node = part.node
        is_lambda = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        if is_lambda or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if name in part.binds:
                function = _defined(part, name, {"__name__": "submission"})
                opcodes = ("RESUME", "LOAD_CONST", "RETURN_VALUE")
                nothing = bytes(byte for word in opcodes for byte in (dis.opmap[word], 0))
                code = function.__code__.replace(co_code=nothing, co_exceptiontable=b"")
                function.__code__ = code
                return function
        elif isinstance(node, ast.Assign) and name in part.binds:
            break
    return None


def forget() -> None:
    """Let go of the texts of all that was made."""
    for file in [file for file in linecache.cache if file.startswith(FILE.partition(" ")[0])]:
        del linecache.cache[file]


def without_solution(exercise: Exercise) -> str:
    """The file of an exercise of the instructor's, in which its solutions only have their names."""
    tree = ast.parse(Path(exercise.file).read_text("utf-8"))
    solutions = exercises_of(exercise.file)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in solutions:
            refusal = "raise NotImplementedError('the solution stays with the judge')"
            node.body = ast.parse(refusal).body
    return ast.unparse(tree)


def _import(node: ast.Import | ast.ImportFrom, space: dict[str, Any]) -> None:
    """Carry out an import of a module that is known; another one binds nothing."""
    home = getattr(node, "module", None) or ""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name in MODULES:
                module = importlib.import_module(alias.name)
                top = alias.name.partition(".")[0]
                space[alias.asname or top] = module if alias.asname else sys.modules[top]
    elif not node.level and (home in MODULES or home.startswith(OURS)):
        module = importlib.import_module(home)
        stars = [name for name in getattr(module, "__all__", dir(module)) if name[0] != "_"]
        for alias in node.names:
            for name in stars if alias.name == "*" else [alias.name]:
                with suppress(LookupError):
                    space[alias.asname or name] = _attribute(module, name)


def _assigned(node: ast.stmt, space: dict[str, Any]) -> bool:
    """Whether an assignment to a name could be carried out without running anything."""
    match node:
        case ast.Assign(targets=[ast.Name(name)], value=value):
            with suppress(LookupError):
                space[name] = _value(value, space)
                return True
    return False


def _value(node: ast.expr, space: Mapping[str, Any]) -> Any:
    """A literal, what a name stands for, or a function that is compiled."""
    with suppress(*NO_LITERAL):
        return ast.literal_eval(node)
    match node:
        case ast.Name(name):
            return space[name]
        case ast.Attribute(value=base, attr=name) if not name.startswith("_"):
            return _attribute(_value(base, space), name)
        case ast.Call(args=[ast.Name(name)], keywords=[]):
            if isinstance(space.get(name), FunctionType):
                return _decorated(space[name], [node.func], space)
    raise LookupError(node)


def _attribute(module: Any, name: str) -> Any:
    """What a module has, as far as that leads to no module which is not known."""
    if isinstance(module, ModuleType):
        if f"{module.__name__}.{name}" in MODULES:  # an attribute only once it is imported
            importlib.import_module(f"{module.__name__}.{name}")
        value = getattr(module, name, LookupError)
        known = not isinstance(value, ModuleType) or value.__name__ in MODULES | CUDA
        if known and value is not LookupError:
            return value
    raise LookupError(name)


def _decorated(function: Any, decorators: Sequence[ast.expr], space: Mapping[str, Any]) -> Any:
    """A function under those of its decorators that compile it, with their plain options."""
    for d in reversed(decorators):
        name, keywords = (d.func, d.keywords) if isinstance(d, ast.Call) else (d, [])
        with suppress(LookupError):
            jit = _value(name, space)
            if getattr(jit, "__name__", "") in JIT:
                options = {
                    word.arg: word.value.value
                    for word in keywords
                    if word.arg not in (None, "cache") and isinstance(word.value, ast.Constant)
                }
                function = jit(**options)(function) if options else jit(function)
    return function


def _defined(statement: Statement, name: str, space: dict[str, Any]) -> Any:
    """The function of a `def` or a lambda; its globals are the space, its text can be found."""
    node, cell = statement.node, statement.cell
    filename = FILE.format(next(_number))
    linecache.cache[filename] = len(cell), None, cell.splitlines(keepends=True), filename
    place = node.lineno, node.col_offset
    (bare,) = [n for n in ast.parse(cell).body if (n.lineno, n.col_offset) == place]
    first = min([bare.lineno, *(d.lineno for d in getattr(bare, "decorator_list", ()))])
    code = ast.Module([_without_code(bare, name)], [])
    exec(compile(code, filename, "exec", dont_inherit=True), space)
    function = space[name]
    function.__code__ = function.__code__.replace(co_firstlineno=first)
    return function


def _without_code(node: Any, name: str) -> Any:
    """A definition of which nothing runs when it is made."""
    function = node
    if isinstance(node, ast.Assign):  # to find another target would run code
        node.targets, function = [ast.Name(name, ast.Store())], node.value
    else:
        node.decorator_list, node.returns = [], None
    for inner in ast.walk(function):
        if isinstance(inner, ast.arg):
            inner.annotation = None
    args = function.args
    args.defaults = [_constant(default) for default in args.defaults]
    args.kw_defaults = [default and _constant(default) for default in args.kw_defaults]
    return ast.fix_missing_locations(node)


def _constant(node: ast.expr) -> ast.expr:
    try:
        ast.literal_eval(node)
        return node
    except NO_LITERAL:
        return ast.Constant(None)

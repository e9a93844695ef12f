"""Stubs: the unfinished functions that a notebook gives to its learner.

A stub has `...` where code is to be written. Every other statement in it must stand in the
solution too, so that the two cannot drift apart. What is to be mended is given whole.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

Function = ast.FunctionDef
WAITING = ("syncthreads", "syncwarp", "threadfence")


def in_cpp(answer: Any) -> bool:
    """Whether an answer is a text in CUDA C++, a `CppSource`; of that nothing need be loaded."""
    return hasattr(type(answer), "tokens")


def is_stub(answer: Any) -> bool:
    """Whether a function still holds a `...`, or nothing but a docstring or `pass`."""
    if in_cpp(answer):
        return "..." in answer.tokens
    tree = _definition(answer)
    return tree is not None and unfinished(tree)


def unfinished(tree: Function) -> bool:
    """Whether a definition is still a stub."""
    written = any(
        not isinstance(node, ast.Raise) or "NotImplementedError" not in ast.unparse(node)
        for node in _statements(tree)
    )
    return not written or any(map(_has_hole, tree.body))


def altered(source: str, given: Any) -> str | None:
    """That what is to be mended is not what the exercise gives, in one sentence, if so."""
    if in_cpp(given):
        nodes = ast.walk(ast.parse(source))
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        same = [type(given)("", text, "").tokens for text in texts] == [given.tokens]
    else:
        stands = [_lines(ast.unparse(function)) for function in _functions(source)]
        same = stands == [_lines(notebook_source(given))]
    return None if same else "what is to be mended is not what the exercise gives"


def _functions(source: str) -> list[Function]:
    return [node for node in ast.parse(source).body if isinstance(node, Function)]


def drift(stub_source: str, solution: Callable[..., Any]) -> str | None:
    """What a stub says that its solution does not, in one sentence; None if they agree."""
    if in_cpp(solution):
        return _drift_of_text(stub_source, solution)
    tree = _definition(solution)
    name = getattr(solution, "__name__", "the solution")
    stub = next((s for s in _functions(stub_source) if s.name == name), None)
    if tree is None or stub is None:
        return f"the stub does not define {name}"
    takes, has = (ast.unparse(without_hints(t.args)) for t in (tree, stub))
    for inner in _inner(tree):
        inner.args, inner.returns = without_hints(inner.args), None
    if takes != has:
        return f"the stub takes ({has}), the solution ({takes})"
    known = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    heads = {_head(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    for node in _statements(stub):
        present = _head(node) in heads if hasattr(node, "body") else ast.unparse(node) in known
        if not present and not _has_hole(node):
            return f"the stub's line {ast.unparse(node)!r} is not in the solution"
        if hasattr(node, "body") and not present:
            return f"the stub's line {_head(node)!r} is not in the solution"
    return None


def _drift_of_text(stub_source: str, solution: Any) -> str | None:
    """The same for CUDA C++, line by line; comments are free."""
    node = ast.parse(stub_source).body[-1]
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return f"the stub does not define {solution.__name__} as a text"
    text = str(node.value.value)

    def tokens(line: str) -> list[str]:
        result: list[str] = type(solution)("", line, "").tokens
        return result

    known = list(map(tokens, ("", "...", *solution.text.splitlines())))
    new = [line for line in text.splitlines() if tokens(line) not in known]
    return f"the stub's line {new[0].strip()!r} is not in the solution" if new else None


def same_code(one: Any, other: Any) -> bool:
    """Whether two functions have the same lines, whatever their hints, comments and docstrings."""
    if in_cpp(one) and in_cpp(other):
        return bool(one.tokens == other.tokens)
    if _definition(one) is None or _definition(other) is None:
        return False
    return _lines(notebook_source(one)) == _lines(notebook_source(other))


def _lines(source: str) -> str:
    """The function in a source, without decorators and comments."""
    tree = ast.parse(source).body[0]
    assert isinstance(tree, Function)
    tree.decorator_list = []
    return ast.unparse(tree)


def without_hints(args: ast.arguments) -> ast.arguments:
    """Take the type hints off a function's parameters, in place."""
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if arg is not None:
            arg.annotation = None
    return args


def _inner(tree: Function) -> list[Function]:
    return [node for node in ast.walk(tree) if isinstance(node, Function) and node is not tree]


def _definition(function: Callable[..., Any]) -> Function | None:
    """The syntax tree of a function, or None where Python cannot find its source."""
    try:
        source = textwrap.dedent(inspect.getsource(unwrapped(function)))
        body = ast.parse(source).body
    except (OSError, TypeError, SyntaxError):
        return None
    return body[0] if body and isinstance(body[0], Function) else None


def _has_hole(tree: ast.AST) -> bool:
    """Whether a `...` stands for missing code; as an index, `a[..., 0]`, it is code."""
    if isinstance(tree, ast.Subscript):
        return _has_hole(tree.value)
    if isinstance(tree, ast.Constant):
        return tree.value is ...
    return any(map(_has_hole, ast.iter_child_nodes(tree)))


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function under its decorators; itself where following them leads nowhere."""
    try:
        return inspect.unwrap(function)
    except ValueError:  # a wrapper of itself
        return function


def uncalled(function: Callable[..., Any]) -> str | None:
    """A barrier or fence of `cuda` that stands alone on a line without being called."""
    for node in ast.walk(_definition(function) or ast.Pass()):
        match node:
            case ast.Expr(value=ast.Attribute(attr=name)) if name.startswith(WAITING):
                return ast.unparse(node)
    return None


def _head(node: ast.stmt) -> str:
    """The first line of a statement, such as `for i in range(m):`."""
    return ast.unparse(node).splitlines()[0]


def _statements(tree: Function) -> list[ast.stmt]:
    """All statements in a function but placeholders, `pass` and strings."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node is not tree]
    return [
        node
        for node in nodes
        if not isinstance(node, ast.Pass)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


def cell_source(answer: Any) -> str:
    """The source of an answer as it could stand in a notebook's cell."""
    return str(answer.cell) if in_cpp(answer) else notebook_source(answer)


def notebook_source(function: Any, decorators: bool = True) -> str:
    """The source of a function without docstring and type hints, and of its decorators `cuda.jit`.

    Without `decorators` that one is left out too.
    """
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    if source.splitlines()[node.body[0].lineno - 1].lstrip().startswith("def "):
        source = ast.unparse(node)  # the body stood on the line of its def
        node = ast.parse(source).body[0]
        assert isinstance(node, ast.FunctionDef)
    first = node.body[0]
    has_docstring = ast.get_docstring(node) is not None
    bare = ast.FunctionDef(
        name=node.name,
        args=without_hints(node.args),
        body=[ast.Pass()],
        decorator_list=[
            d for d in node.decorator_list if decorators and ast.unparse(d).startswith("cuda.jit")
        ],
        lineno=1,
    )
    *head, _ = ast.unparse(bare).splitlines()
    lines = source.splitlines()
    for inner in reversed(_inner(node)):
        begin, end = inner.lineno - 1, inner.body[0].lineno - 1
        signature = f"def {inner.name}({ast.unparse(without_hints(inner.args))}):"
        lines[begin:end] = [" " * inner.col_offset + signature] * (begin < end)
    body = lines[(first.end_lineno or 0) if has_docstring else first.lineno - 1 :]
    while body and not body[0].strip():
        del body[0]
    return "\n".join([*head, *body]).rstrip()

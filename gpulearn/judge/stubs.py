"""Stubs: the unfinished functions that a notebook gives to its learner.

A stub has `...` where code is to be written. Every other statement in it must stand in the
solution too, so that the two cannot drift apart. What is to be mended is given whole.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

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


def unfinished(tree: ast.FunctionDef) -> bool:
    """Whether a definition is still a stub."""
    written = any(
        not isinstance(node, ast.Raise) or "NotImplementedError" not in ast.unparse(node)
        for node in statements(tree)
    )
    return not written or any(map(has_hole, tree.body))


def statements(tree: ast.FunctionDef) -> list[ast.stmt]:
    """All statements in a function but placeholders, `pass` and strings."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and node is not tree
        and not isinstance(node, ast.Pass)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


def has_hole(tree: ast.AST) -> bool:
    """Whether a `...` stands for missing code; as an index, `a[..., 0]`, it is code."""
    if isinstance(tree, ast.Subscript):
        return has_hole(tree.value)
    if isinstance(tree, ast.Constant):
        return tree.value is ...
    return any(map(has_hole, ast.iter_child_nodes(tree)))


def same_code(one: Any, other: Any) -> bool:
    """Whether two functions have the same lines, whatever their hints, comments and docstrings."""
    if in_cpp(one) and in_cpp(other):
        return bool(one.tokens == other.tokens)
    if _definition(one) is None or _definition(other) is None:
        return False
    return lines(notebook_source(one)) == lines(notebook_source(other))


def lines(source: str) -> str:
    """The function in a source, without decorators and comments."""
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return ast.unparse(tree)


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function under its decorators; itself where following them leads nowhere."""
    try:
        return inspect.unwrap(function)
    except ValueError:  # a wrapper of itself
        return function


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The syntax tree of a function, or None where Python cannot find its source."""
    try:
        source = textwrap.dedent(inspect.getsource(unwrapped(function)))
        body = ast.parse(source).body
    except (OSError, TypeError, SyntaxError):
        return None
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None


def uncalled(function: Callable[..., Any]) -> str | None:
    """A barrier or fence of `cuda` that stands alone on a line without being called."""
    for node in ast.walk(_definition(function) or ast.Pass()):
        match node:
            case ast.Expr(value=ast.Attribute(attr=name)) if name.startswith(WAITING):
                return ast.unparse(node)
    return None


def cell_source(answer: Any) -> str:
    """The source of an answer as it could stand in a notebook's cell."""
    return str(answer.cell) if in_cpp(answer) else notebook_source(answer)


def notebook_source(function: Any, decorators: bool = True) -> str:
    """The source of a function without docstring and type hints other than `tl.constexpr`.

    Of its decorators only `cuda.jit` and `triton.jit` stay; without `decorators` they go too.
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
    kept = ("cuda.jit", "triton.jit")
    shown = [d for d in map(ast.unparse, node.decorator_list) if d.startswith(kept)]
    head = [f"@{d}" for d in shown if decorators] + [_signature(node)]
    code = source.splitlines()
    for inner in reversed([n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)][1:]):
        begin, end = inner.lineno - 1, inner.body[0].lineno - 1
        code[begin:end] = [" " * inner.col_offset + _signature(inner)] * (begin < end)
    body = code[(first.end_lineno or 0) if has_docstring else first.lineno - 1 :]
    while body and not body[0].strip():
        del body[0]
    return "\n".join([*head, *body]).rstrip()


def _signature(node: ast.FunctionDef) -> str:
    return f"def {node.name}({ast.unparse(without_hints(node.args))}):"


def without_hints(args: ast.arguments) -> ast.arguments:
    """Take the type hints off a function's parameters, in place; Triton's constants keep theirs."""
    for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if arg is not None and "constexpr" not in ast.unparse(arg.annotation or arg):
            arg.annotation = None
    return args

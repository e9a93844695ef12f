"""What a notebook's stub says that its exercise does not."""

from __future__ import annotations

import ast
from typing import Any

from gpulearn.judge import stubs

__all__ = ["altered", "drift"]


def altered(source: str, given: Any) -> str | None:
    """That what is to be mended is not what the exercise gives, in one sentence, if so."""
    if stubs.in_cpp(given):
        nodes = ast.walk(ast.parse(source))
        texts = [str(node.value) for node in nodes if isinstance(node, ast.Constant)]
        same = [type(given)("", text, "").tokens for text in texts] == [given.tokens]
    else:
        same = [stubs.lines(ast.unparse(f)) for f in _functions(source)] == [
            stubs.lines(stubs.notebook_source(given))
        ]
    return None if same else "what is to be mended is not what the exercise gives"


def drift(stub_source: str, solution: Any) -> str | None:
    """What a stub says that its solution does not, in one sentence; None if they agree."""
    if stubs.in_cpp(solution):
        return _drift_of_text(stub_source, solution)
    (tree,) = _functions(stubs.notebook_source(solution))
    stub = next((s for s in _functions(stub_source) if s.name == tree.name), None)
    if stub is None:
        return f"the stub does not define {tree.name}"
    takes, has = ast.unparse(tree.args), ast.unparse(stubs.without_hints(stub.args))
    if takes != has:
        return f"the stub takes ({has}), the solution ({takes})"
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    known = {ast.unparse(node) for node in statements}
    heads = {_head(node) for node in statements}
    for node in stubs.statements(stub):
        if hasattr(node, "body"):
            if _head(node) not in heads:
                return f"the stub's line {_head(node)!r} is not in the solution"
        elif ast.unparse(node) not in known and not stubs.has_hole(node):
            return f"the stub's line {ast.unparse(node)!r} is not in the solution"
    return None


def _drift_of_text(stub_source: str, solution: Any) -> str | None:
    """The same for CUDA C++, line by line; comments are free."""
    node = ast.parse(stub_source).body[-1]
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
        return f"the stub does not define {solution.__name__} as a text"

    def tokens(line: str) -> Any:
        return type(solution)("", line, "").tokens

    known = list(map(tokens, ("", "...", *solution.text.splitlines())))
    new = [line for line in str(node.value.value).splitlines() if tokens(line) not in known]
    return f"the stub's line {new[0].strip()!r} is not in the solution" if new else None


def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def _head(node: ast.stmt) -> str:
    """The first line of a statement, such as `for i in range(m):`."""
    return ast.unparse(node).splitlines()[0]

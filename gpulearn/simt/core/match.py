"""`match` statements, rewritten as the chain of `if` that they stand for.

Numba knows the patterns that are comparisons: values, alternatives, names and `_`, with or
without a guard. Others stay as they are, for the translator to refuse.
"""

from __future__ import annotations

import ast

__all__ = ["without_match"]


def without_match(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function with each `match` that is made of comparisons as a chain of `if`."""
    made: ast.FunctionDef = _Rewriter().visit(tree)
    return ast.fix_missing_locations(made)


class _Rewriter(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        subject = f"match_{node.lineno}_{node.col_offset}"
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test, name = _test(case.pattern, subject)
            if test is None:
                return node
            body = case.body
            if name is not None:
                body = [ast.Assign([ast.Name(name, ast.Store())], _read(subject)), *body]
            if case.guard is not None:
                guard: ast.expr = _Renamed(name, subject).visit(case.guard)
                test = ast.BoolOp(ast.And(), [test, guard])
            takes_the_rest = isinstance(test, ast.Constant)
            chain = body if takes_the_rest else [ast.If(test, body, chain)]
        first = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
        return [ast.copy_location(_placed(made, node), node) for made in (first, *chain)]


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _placed(made: ast.stmt, node: ast.Match) -> ast.stmt:
    """A new statement with the line of its case, or of the `match`, where it has none."""
    for inner in ast.walk(made):
        if isinstance(inner, ast.If) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, inner.test if hasattr(inner.test, "lineno") else node)
    return made


def _test(pattern: ast.pattern, subject: str) -> tuple[ast.expr | None, str | None]:
    """The condition for which a pattern stands, None if for none, and the name it binds."""
    test: ast.expr | None = None
    name = None
    if isinstance(pattern, ast.MatchValue):
        test = ast.Compare(_read(subject), [ast.Eq()], [pattern.value])
    elif isinstance(pattern, ast.MatchSingleton):
        test = ast.Compare(_read(subject), [ast.Is()], [ast.Constant(pattern.value)])
    elif isinstance(pattern, ast.MatchOr):
        tests = [_test(p, subject)[0] for p in pattern.patterns]
        known = [t for t in tests if t is not None]
        test = ast.BoolOp(ast.Or(), known) if len(known) == len(tests) else None
    elif isinstance(pattern, ast.MatchAs):
        inner = pattern.pattern
        test = ast.Constant(True) if inner is None else _test(inner, subject)[0]
        name = pattern.name
    return None if test is None else ast.copy_location(test, pattern), name


class _Renamed(ast.NodeTransformer):
    """A guard that reads the subject by the name that the pattern gives it."""

    def __init__(self, name: str | None, subject: str) -> None:
        self.name, self.subject = name, subject

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(_read(self.subject), node) if node.id == self.name else node

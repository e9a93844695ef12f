"""`match` statements, rewritten as the chain of `if` that they stand for.

Numba knows the patterns that are comparisons: values, alternatives, names and `_`, with or
without a guard. Others stay as they are, for the translator to refuse.
"""

import ast


def without_match(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function with each `match` that is made of comparisons as a chain of `if`."""
    result: ast.FunctionDef = _Rewriter().visit(tree)
    return ast.fix_missing_locations(result)


class _Rewriter(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        subject = f"match_{node.lineno}_{node.col_offset}"
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test, name = _test(case.pattern, subject)
            if test is None:
                return node
            # bound before the guard is asked, and also where it fails
            begin: list[ast.stmt] = [] if name is None else [_bind(name, subject, case.pattern)]
            always = isinstance(test, ast.Constant)
            if case.guard is None:
                body = [*begin, *case.body]
                chain = body if always else [ast.If(test, body, chain)]
            else:
                if begin and not always:
                    begin = [ast.If(test, begin, [])]
                guard = case.guard if always else ast.BoolOp(ast.And(), [test, case.guard])
                chain = [*begin, ast.If(guard, case.body, chain)]
        first = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
        return [ast.copy_location(_locate(statement, node), node) for statement in (first, *chain)]


def _bind(name: str, subject: str, pattern: ast.pattern) -> ast.stmt:
    assignment = ast.Assign([ast.Name(name, ast.Store())], _read(subject))
    return ast.fix_missing_locations(ast.copy_location(assignment, pattern))


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _locate(statement: ast.stmt, node: ast.Match) -> ast.stmt:
    """Gives a new statement that has no line that of its case, or of the `match`."""
    for inner in ast.walk(statement):
        if isinstance(inner, ast.If) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, inner.test if hasattr(inner.test, "lineno") else node)
    return statement


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
        conditions = [t for t in tests if t is not None]
        test = ast.BoolOp(ast.Or(), conditions) if len(conditions) == len(tests) else None
    elif isinstance(pattern, ast.MatchAs):
        inner = pattern.pattern
        test = ast.Constant(True) if inner is None else _test(inner, subject)[0]
        name = pattern.name
    return None if test is None else ast.copy_location(test, pattern), name

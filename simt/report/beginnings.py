"""The numbers with which the variables of a kernel begin, read from a report's source."""

import ast
import textwrap

from simt.report.report import Report


def begins_plain(report: Report, line: int) -> bool:
    """Whether a variable of a line is set to a plain number elsewhere, as a sum is by 0.0 or 0."""
    numbers = sorted(report.source)
    try:
        tree = ast.parse(textwrap.dedent("\n".join(report.source[n] for n in numbers)))
    except SyntaxError:
        return True
    nodes = list(ast.walk(tree))
    values: dict[str, list[ast.expr]] = {}
    for node in (n for n in nodes if isinstance(n, ast.Assign)):
        for target in node.targets:
            for name, value in _pairs(target, node.value):
                values.setdefault(name, []).append(value)
    here = [n for n in nodes if isinstance(n, ast.stmt) and n.lineno == line - numbers[0] + 1]
    parts = [part for statement in here for part in ast.walk(statement)]
    places = {id(n) for p in parts if isinstance(p, ast.Subscript) for n in ast.walk(p.slice)}
    names = {p.id for p in parts if isinstance(p, ast.Name) and id(p) not in places}
    return any(_plain(value, values) for name in names for value in values.get(name, ()))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Each variable with its value, in `a = 0.0` and in `a, b = 0.0, 1.0`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=False)
        return [pair for part, other in pairs for pair in _pairs(part, other)]
    return [(target.id, value)] if isinstance(target, ast.Name) else []


def _plain(value: ast.expr, values: dict[str, list[ast.expr]]) -> bool:
    """Whether an expression may be a plain number: 0, -1.5, x if x > 0 else 0.0, zero after 0.0."""
    if isinstance(value, ast.IfExp):
        return _plain(value.body, values) or _plain(value.orelse, values)
    if isinstance(value, ast.UnaryOp):
        return _plain(value.operand, values)
    if isinstance(value, ast.Name):
        others = {name: assigned for name, assigned in values.items() if name != value.id}
        return any(_plain(other, others) for other in values.get(value.id, ()))
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))

"""Wrong answers made by machine: an exercise's solution with one place of its syntax tree changed.

`python -m tools.mutants TOPIC [EXERCISE] [--told N]` judges each as `gl.check` does and prints
those that pass, to be read: either they do the same, or the cases miss a mistake. With `--told N`
it prints what N of the refused ones are told, to be held against what they do.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from gpulearn.errors import MachineFault
from gpulearn.judge.answers import Answer, edited
from gpulearn.judge.catalogue import find, places
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.stubs import notebook_source, unwrapped

__all__ = ["judged", "main", "mutants"]

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr},
    **{ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.USub: ast.UAdd},
}
NAMES = {
    **{"min": "max", "max": "min", "sum": "mean", "mean": "sum", "any": "all", "all": "any"},
    **{"floor": "ceil", "ceil": "floor", "zeros_like": "ones_like", "ones_like": "zeros_like"},
    **{"minimum": "maximum", "maximum": "minimum", "argmin": "argmax", "argmax": "argmin"},
    **{"append": "extend", "sqrt": "square", "isfinite": "isnan", "train": "eval"},
}
MIN_SECONDS = 3.0  # that a mutant has, however fast the solution is


def mutants(source: str) -> Iterator[str]:
    """The function in a source with one place changed, each text once, the function's own never."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for _ in _changed(tree):
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text not in seen:
            seen.add(text)
            with suppress(SyntaxError):  # such as a nonlocal name that nothing binds any more
                compile(text, "<mutant>", "exec")
                yield text


def _changed(tree: ast.Module) -> Iterator[None]:
    """The same tree again and again, each time with another place changed, then as it was."""
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    if ast.get_docstring(function) is not None:
        del function.body[0]
    body = ast.Module(function.body, [])  # what stands above the body is given in the stub
    for parent in list(ast.walk(body)):
        for field, value in list(ast.iter_fields(parent)):
            if field in ("annotation", "returns"):
                continue
            nodes = value if isinstance(value, list) else [value]
            for number, node in enumerate(nodes):
                for new in _others(node) if isinstance(node, ast.AST) else ():
                    if isinstance(value, list):
                        old, value[number : number + 1] = value[:], new
                        if field == "body" and not value:
                            value.append(ast.Pass())
                        yield
                        value[:] = old
                    elif len(new) == 1:
                        setattr(parent, field, new[0])
                        yield
                        setattr(parent, field, value)


def _others(node: ast.AST) -> Iterator[list[Any]]:
    """What may stand in place of a node: mostly one other."""
    if type(node) in OPERATORS:
        yield [OPERATORS[type(node)]()]
    elif isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.keyword):
        yield []
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield [_with(node, ifs=[])]
    elif isinstance(node, ast.expr):
        yield from ([expression] for expression in _other_expressions(node))


def _other_statements(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    yield []
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield [_with(node, test=ast.UnaryOp(ast.Not(), test))]
            if isinstance(node, ast.If):
                yield node.body
        case ast.AugAssign(target=target, op=op, value=value):
            yield [ast.Assign([target], ast.BinOp(target, op, value))]
            yield [ast.Assign([target], value)]
        case ast.Assign(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
            for inner in ast.walk(value):
                match inner:
                    case ast.BinOp(left=ast.Name() as left, op=op, right=right):  # in place
                        rest = copy.deepcopy(node, {id(inner): left})
                        yield [ast.AugAssign(left, op, right), rest]
        case ast.For(iter=rounds):  # the first round alone
            first = ast.Slice(None, ast.Constant(1))
            yield [_with(node, iter=ast.Subscript(_call("list", rounds), first))]


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from map(ast.Constant, sorted({value - 1, value + 1, 0, 1} - {value}))
        case ast.Constant(value=float(value)):
            yield from map(ast.Constant, sorted({0.0, 1.0, 2 * value} - {value}))
        case ast.BinOp(left=left, op=op, right=right):
            yield from (left, right)
            if not isinstance(op, ast.Add | ast.Mult):
                yield ast.BinOp(right, op, left)
        case ast.BoolOp(op=op, values=values):
            yield from (
                ast.BoolOp(op, rest) if len(rest := values[:i] + values[i + 1 :]) > 1 else rest[0]
                for i in range(len(values))
            )
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from (body, orelse, ast.IfExp(test, orelse, body))
        case ast.Tuple(elts=[*several]):
            yield from (_with(node, elts=order) for order in _exchanged(several))
        case ast.Subscript(slice=ast.Slice() as part):
            yield from (_with(node, slice=other) for other in _other_slices(part))
        case ast.Subscript(slice=index) if not isinstance(index, ast.Constant | ast.Tuple):
            yield from (_with(node, slice=_plus(index, by)) for by in (-1, 1))
        case ast.Call():
            yield from _other_calls(node)


def _other_slices(part: ast.Slice) -> Iterator[ast.Slice]:
    for name in ("lower", "upper", "step"):
        if end := getattr(part, name):
            yield from (_with(part, **{name: v}) for v in (None, _plus(end, -1), _plus(end, 1)))


def _other_calls(node: ast.Call) -> Iterator[ast.expr]:
    args = node.args
    yield from (_with(node, args=order) for order in _exchanged(args))
    match node.func:
        case ast.Name("range"):
            for i, by in ((i, by) for i in range(len(args)) for by in (-1, 1)):
                yield _with(node, args=[*args[:i], _plus(args[i], by), *args[i + 1 :]])
        case ast.Name(name) if name in NAMES:
            yield _with(node, func=ast.Name(NAMES[name]))
        case ast.Attribute(attr=name) if name in NAMES:
            yield _with(node, func=_with(node.func, attr=NAMES[name]))
    if isinstance(node.func, ast.Attribute) and not args:  # such as .copy() and .detach()
        yield node.func.value
    elif args and not isinstance(args[0], ast.Starred):  # such as abs(x)
        yield from args


def _exchanged(nodes: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Two neighbors exchanged."""
    for i in range(1, len(nodes)):
        yield [*nodes[: i - 1], nodes[i], nodes[i - 1], *nodes[i + 1 :]]


def _plus(node: ast.expr, by: int) -> ast.expr:
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))


def _call(name: str, argument: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name), [argument], [])


def _with(node: Any, **fields: Any) -> Any:
    """A shallow copy of a node with other fields."""
    other = copy.copy(node)
    vars(other).update(fields)
    return other


def judged(exercise: Exercise) -> Iterator[tuple[str, str | None]]:
    """For each mutant of the solution, how it differs and what it is told; None if it passes."""
    source = notebook_source(unwrapped(exercise.reference), decorators=False)
    began = time.perf_counter()

    def answer(text: str) -> Answer:
        return edited(exercise.reference, lambda source: text)

    if hint := diagnose(exercise, answer(source + "\n    pass\n")):
        raise AssertionError(f"the solution of {exercise.name} does not pass: {hint}")
    seconds = MIN_SECONDS + 5 * (time.perf_counter() - began)
    plain = ast.unparse(ast.parse(source)).splitlines()
    for text in mutants(source):
        lines = difflib.unified_diff(plain, text.splitlines(), lineterm="", n=0)
        difference = "\n".join(line for line in lines if line[:2] not in ("--", "++", "@@"))
        try:
            yield difference, diagnose(exercise, answer(text), seconds)
        except MachineFault as fault:
            yield difference, f"MachineFault: {fault}"


def main(arguments: list[str] | None = None) -> None:
    """Print what passes and how many there were, exercise by exercise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topic")
    parser.add_argument("exercise", nargs="?")
    parser.add_argument("--told", type=int, default=0, metavar="N")
    options = parser.parse_args(arguments)
    ends = {name: topic.__name__.rpartition(".")[2] for name, topic in places().items()}
    for name in (n for n, topic in ends.items() if topic == options.topic):
        if options.exercise not in (None, name) or find(name).kernel:  # kernel: in C++
            continue
        verdicts = list(judged(find(name)))
        passed = [difference for difference, hint in verdicts if hint is None]
        refused = [(difference, hint) for difference, hint in verdicts if hint is not None]
        print(f"{name}: {len(verdicts)} mutants, {len(refused)} refused, {len(passed)} passed")
        print(*passed, sep="\n\n", end="\n\n", flush=True)
        for difference, hint in random.Random(0).sample(refused, min(options.told, len(refused))):
            print(f"{difference}\n    told: {hint}\n", flush=True)


if __name__ == "__main__":
    main()

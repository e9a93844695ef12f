"""One thread after another: what a kernel must compute, told the long way round.

The machine carries out a statement for all threads at once. This reference does the
opposite: it takes the kernel as Numba typed it (the instructions that Numba would
compile, with the type of every variable and the signature of every operation) and
interprets it for one thread until that thread waits at a barrier, then for the next.
So it shares nothing with the machine but Numba's verdict, and its numbers are typed as
Numba types them: int32 + int32 is int64, an `if` that mixes int and float gives float.

It is for right kernels only: it detects nothing, and order never changes its results.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from . import reference_calls as calls
from .reference_types import Code, cast, in_type, typed, typed_device, typeof_argument


class Thread(NamedTuple):
    """Who a thread is, and the arrays of its block and its own."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    at: tuple[int, int, int]
    index: tuple[int, int, int]
    shared: dict[Any, Any]
    local: dict[Any, Any]


def interpret(code: Code, args: tuple[Any, ...], me: Thread) -> Any:
    """Carry out `code` for one thread; yields at every barrier, returns the result."""
    env: dict[str, Any] = {}
    body = code.blocks[code.first]
    while True:
        for stmt in body:
            match type(stmt).__name__:
                case "Assign":
                    value = stmt.value
                    match type(value).__name__:
                        case "Var":
                            result = env[value.name]
                        case "Expr" if value.op == "call":
                            result = yield from _call(code, value, env, me)
                        case "Expr":
                            result = _expr(code, value, env, me)
                        case "Arg":
                            result = args[value.index]
                        case _:  # Const, Global, FreeVar
                            result = value.value
                            if id(result) in calls.DIMENSIONS:
                                result = calls.DIMENSIONS[id(result)](me)
                    env[stmt.target.name] = cast(result, code.typemap[stmt.target.name])
                case "SetItem":
                    target = env[stmt.target.name]
                    value = cast(env[stmt.value.name], code.calltypes[stmt].args[2])
                    target[env[stmt.index.name]] = _fits(value, target)
                case "StaticSetItem":
                    target = env[stmt.target.name]
                    index = stmt.index if stmt.index_var is None else env[stmt.index_var.name]
                    target[index] = _fits(env[stmt.value.name], target)
                case "SetAttr":
                    target = env[stmt.target.name]
                    target[stmt.attr] = _fits(env[stmt.value.name], target[stmt.attr])
                case "Branch":
                    body = code.blocks[stmt.truebr if env[stmt.cond.name] else stmt.falsebr]
                case "Jump":
                    body = code.blocks[stmt.target]
                case "Return":
                    return env[stmt.value.name]
                case other:
                    raise NotImplementedError(f"{other}: {stmt}")


def _fits(value: Any, target: Any) -> Any:
    """A store converts as C does: modulo 2**bits between integers."""
    if isinstance(target, np.ndarray) and target.dtype.names:
        return value
    kind = np.asarray(target).dtype
    if kind.kind in "iub" and isinstance(value, (np.integer, np.bool_, float, np.floating)):
        return in_type(value, kind)
    return value


def _expr(code: Code, expr: Any, env: dict[str, Any], me: Thread) -> Any:
    match expr.op:
        case "binop" | "inplace_binop" | "unary":
            sig = code.calltypes[expr]
            fn = expr.immutable_fn if expr.op == "inplace_binop" else expr.fn
            names = [expr.value] if expr.op == "unary" else [expr.lhs, expr.rhs]
            # integers of two kinds meet in the kind of the result (NumPy would go to float64)
            whole = isinstance(sig.return_type, types.Integer) and len(names) == 2
            wanted = [sig.return_type] * 2 if whole else sig.args
            values = [cast(env[v.name], t) for v, t in zip(names, wanted, strict=True)]
            return cast(calls.operate(fn, values), sig.return_type)
        case "getattr":
            return calls.attribute(env[expr.value.name], expr.attr, me)
        case "getitem":
            return env[expr.value.name][env[expr.index.name]]
        case "static_getitem":
            # Numba takes `threadIdx.x` for a constant: the variable knows better
            index = expr.index if expr.index_var is None else env[expr.index_var.name]
            return env[expr.value.name][index]
        case "build_tuple":
            return tuple(env[v.name] for v in expr.items)
        case "getiter":
            return iter(env[expr.value.name])
        case "iternext":
            item = next(env[expr.value.name], StopIteration)
            return (0, False) if item is StopIteration else (item, True)
        case "pair_first" | "pair_second":
            return env[expr.value.name][expr.op == "pair_second"]
        case "exhaust_iter":
            return tuple(env[expr.value.name])
        case "cast":
            return env[expr.value.name]
        case "undef" | "null":  # no path to here has set it: Numba's zero
            return 0
    raise NotImplementedError(f"{expr.op}: {expr}")


def _call(code: Code, expr: Any, env: dict[str, Any], me: Thread) -> Any:
    fn = env[expr.func.name]
    sig = code.calltypes[expr]
    args = [env[v.name] for v in expr.args]
    kws = {k: env[v.name] for k, v in expr.kws}
    rule = calls.RULES.get(id(fn))
    if fn is calls.cuda.syncthreads:
        result = yield
    elif rule is not None:
        result = rule(calls.Call(me, expr, sig, args, kws))
    elif hasattr(fn, "py_func"):
        plain = fn.py_func.__code__
        order = plain.co_varnames[: plain.co_argcount]
        values = args + [kws[n] for n in order[len(args) :] if n in kws]
        inner = typed_device(fn, sig.args)
        values = [cast(v, t) for v, t in zip(values, sig.args, strict=True)]
        result = yield from interpret(inner, tuple(values), me)
    else:
        values = [cast(v, t) for v, t in zip(args, sig.args, strict=False)]
        result = calls.plain(fn, values, kws, sig.return_type)
    return cast(result, sig.return_type)


def _three(shape: int | tuple[int, ...]) -> tuple[int, int, int]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return (*shape, 1, 1)[:3]  # type: ignore[return-value]


def _places(shape: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    return [(x, y, z) for z in range(shape[2]) for y in range(shape[1]) for x in range(shape[0])]


def run(fn: Any, grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any) -> None:
    """Launch `fn` over `grid` by `block`; arrays among `args` are changed in place."""
    argtypes = tuple(typeof_argument(a) for a in args)
    code = typed(fn, argtypes)
    args = tuple(cast(a, t) for a, t in zip(args, argtypes, strict=True))
    grid, block = _three(grid), _three(block)
    ended = object()
    with np.errstate(all="ignore"):  # a GPU neither warns nor stops
        for at in _places(grid):
            shared: dict[Any, Any] = {}
            threads = [Thread(grid, block, at, i, shared, {}) for i in _places(block)]
            live = [interpret(code, args, thread) for thread in threads]
            while live:  # each to its next barrier
                live = [steps for steps in live if next(steps, ended) is not ended]

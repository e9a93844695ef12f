"""Rewriting: a kernel's syntax tree as that of a function of `me` for Numba's CPU compiler.

Names are what they were frozen to, and array accesses go through the library, which checks them.
Where threads wait for each other they are generators: a barrier is a `yield`.
"""

from __future__ import annotations

import ast
import copy
import enum
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba import types as numba_types

from simt.compiled.access import converted, in_place, load, store
from simt.compiled.blocks import SITE_BITS, in_pass
from simt.compiled.exchange import EXCHANGES, put_block, put_warp
from simt.compiled.frame import LaunchFrame, NotCompiled
from simt.compiled.library import CALLS, PAIRS, SHIFTS, SUBSTITUTES
from simt.compiled.thread import IDENTITY, INNER, leave, look
from simt.core.registry import DeviceFunction, Intrinsic, callee, intrinsics
from simt.core.source import MISSING, KernelSource
from simt.core.values import normal
from simt.frontend import syntax
from simt.frontend.dataflow import Types, doubtful_reads
from simt.frontend.program import Program
from simt.frontend.typecheck import device_types
from simt.intrinsics.functions import Type, type_of

__all__ = ["RewrittenKernel"]

_ME = "_me"
_RESERVED = re.compile(r"_(me|[kt]\d+.*)")  # what the rewriter itself calls things
_UNSUPPORTED = (
    ast.FunctionDef, ast.Lambda, ast.Raise, ast.Assert, ast.Delete, ast.Match, ast.ListComp,
    ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr, ast.Try, ast.With, ast.Nonlocal,
)  # fmt: skip
_HOMES = ("builtins", "math", "cmath", "numpy", "_operator")
_DIFFERENT = (print, isinstance)  # what Numba's CPU compiler does in its own way


class RewrittenKernel:
    """A program's functions for Numba's CPU compiler, and the frame that they read.

    Raises:
        NotCompiled: a part of it is only for the machine.
    """

    def __init__(self, program: Program, arguments: tuple[Any, ...]) -> None:
        if program.debug:
            raise NotCompiled("a kernel whose exceptions reach the host")
        self.program = program
        if program.debug:
            raise NotCompiled("debug=True, by which a division by zero is an error")
        objects = [callee(thing) for source in program.sources() for thing in _references(source)]
        if any(getattr(getattr(f, "dispatcher", None), "declared", None) for f in objects):
            raise NotCompiled("a declared signature of a device function")
        self.in_order = any(getattr(f, "name", "").startswith("atomic.") for f in objects)
        self.turns = self.meets(program.source)
        self.frame = LaunchFrame(turns=self.turns)
        self.devices: dict[DeviceFunction, Any] = {}
        self.sites = 0  # where threads wait
        self.place = 0  # the number of the kernel's statement, from 1
        self.serial = 0
        self.passes: list[str] = []  # of each loop around, the variable that counts its passes
        self.kernel = njit(**INNER)(_Rewriter(self, program.source).kernel(arguments))
        self.waits = any(
            isinstance(n, ast.While) for s in program.sources() for n in ast.walk(s.tree)
        )

    def meets(self, source: KernelSource, callers: tuple[KernelSource, ...] = ()) -> bool:
        """Whether a thread may wait for others in a function.

        Raises:
            NotCompiled: it calls itself.
        """
        if source in callers:
            raise NotCompiled(f"{source.name} calls itself")
        things = [callee(thing) for thing in _references(source)]
        return any(getattr(item, "name", "") in EXCHANGES for item in things) or any(
            self.meets(self.program.source_of(item), (*callers, source))
            for item in things
            if isinstance(item, DeviceFunction)
        )

    def device(self, function: DeviceFunction) -> Any:
        """A device function, compiled with the kernel."""
        if function not in self.devices:
            rewriter = _Rewriter(self, self.program.source_of(function))
            self.devices[function] = njit(**INNER)(rewriter.device(function))
        return self.devices[function]


def _is_field(node: ast.expr) -> bool:
    """Whether something is a field of a record, or of an array of them."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    is_name = isinstance(index, ast.Constant) and isinstance(index.value, str)
    return is_name or isinstance(node, ast.Attribute)


def _references(source: KernelSource) -> list[Any]:
    """What the names in a function stand for."""
    nodes = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name | ast.Attribute)]
    return [thing for node in nodes if (thing := source.named(node)) is not MISSING]


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function, and collects the objects that it names."""

    def __init__(self, program: RewrittenKernel, source: KernelSource, prefix: str = "") -> None:
        self.program = program
        self.source = source
        self.prefix = prefix  # of its variables, where it stands within another function
        self.tree = copy.deepcopy(source.tree)
        self.names: dict[str, Any] = {}
        self.stored = Counter(
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self.meant: dict[str, ast.expr] = {}  # what stands where a variable is read
        self.waits = False  # whether threads may wait in it
        self.refuse(any(map(_RESERVED.fullmatch, source.locals)), "a variable called like its own")

    # --- a whole function

    def kernel(self, arguments: tuple[Any, ...]) -> Any:
        """The kernel: its parameters are read from the frame, where and whenever they are used."""
        self.waits = True
        self.refuse(self.tree.args.vararg, "*args")
        first = self.unset(self.program.program.types)
        for number, kind in enumerate(arguments):
            name = self.source.parameters[number]
            value = self.argument((number,), kind)
            if self.stored[name]:
                first.append(ast.Assign([ast.Name(name, ast.Store())], value))
            else:
                self.meant[name] = value
        for statement in self.tree.body:
            self.program.place += 1
            first += self.suite([statement])
        return self.build(ast.arguments([], [ast.arg(_ME)], None, [], [], None, []), first)

    def device(self, function: DeviceFunction) -> Any:
        """A device function, with `me` before its parameters."""
        args = self.tree.args
        self.refuse(args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs, "*")
        names = [ast.arg(_ME), *(ast.arg(a.arg) for a in args.args)]
        parameters = ast.arguments([], names, None, [], [], None, [])
        first = self.unset(device_types(function.dispatcher))
        compiled = self.build(parameters, [*first, *self.suite(self.tree.body)])
        compiled.__defaults__ = function.function.__defaults__
        return compiled

    def build(self, parameters: ast.arguments, body: list[ast.stmt]) -> Any:
        """The Python function."""
        tree = ast.FunctionDef(self.source.name, parameters, body, [])
        module = ast.Module([ast.copy_location(tree, self.tree)], [])
        code = compile(ast.fix_missing_locations(module), f"<compiled {self.source.name}>", "exec")
        exec(code, self.names)
        return self.names[self.source.name]

    def suite(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Rewritten statements."""
        rewritten: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            rewritten += new if isinstance(new, list) else [new]
        return rewritten

    def unset(self, types: Types) -> list[ast.stmt]:
        """Zeros for the variables that some path reads before any has set them."""
        first: list[ast.stmt] = []
        for name in sorted({node.id for node in doubtful_reads(self.source)}):
            kinds = {kind for (variable, _), kind in types.items() if variable == name}
            kind = kinds.pop() if len(kinds) == 1 else None
            if not isinstance(kind, np.dtype):
                raise NotCompiled(f"{name} may be unset, and is not always of one type of number")
            zero = self.call(kind.type, ast.Constant(0))
            first.append(ast.Assign([ast.Name(self.prefix + name, ast.Store())], zero))
        return first

    # --- what it is made of

    def refuse(self, node: Any, what: str = "") -> None:
        """Leaves it to the machine, if there is something to refuse."""
        if node:
            raise NotCompiled(what or type(node).__name__)

    def constant(self, value: Any) -> ast.expr:
        """A name for an object."""
        for name, thing in self.names.items():
            if thing is value:
                return ast.Name(name, ast.Load())
        name = f"_k{len(self.names)}"
        self.names[name] = value
        return ast.Name(name, ast.Load())

    def call(self, function: Any, *arguments: ast.expr) -> ast.Call:
        """A call of an object."""
        return ast.Call(self.constant(function), list(arguments), [])

    def mine(self, function: Any, *arguments: ast.expr) -> ast.Call:
        """A call that passes `me`, the calling thread."""
        return self.call(function, ast.Name(_ME, ast.Load()), *arguments)

    def fresh(self) -> str:
        """A fresh name."""
        self.program.serial += 1
        return f"_t{self.program.serial}"

    def argument(self, place: tuple[int, ...], kind: Any) -> ast.expr:
        """The reader of an argument of the kernel."""
        if not isinstance(kind, numba_types.BaseTuple):
            return self.mine(self.program.frame.argument(place, kind))
        items = [self.argument((*place, n), k) for n, k in enumerate(kind.types)]
        if isinstance(kind, numba_types.BaseNamedTuple):
            return self.call(kind.instance_class, *items)
        return ast.Tuple(items, ast.Load())

    def constant_of(self, value: Any) -> ast.expr:
        """The constant that a name stood for before the launch."""
        thing = callee(value)
        if isinstance(thing, Type):
            return self.constant(thing.dtype.type)
        if isinstance(thing, Intrinsic):
            self.refuse(not (thing.attribute and thing.name in IDENTITY), thing.name)
            return self.mine(IDENTITY[thing.name])
        if isinstance(value, enum.Enum):
            return self.constant_of(value.value)
        value = normal(value)
        plain = bool | int | float | complex | np.generic | np.ndarray
        items = value if isinstance(value, tuple) else (value,)
        self.refuse(not all(isinstance(item, plain) for item in items), f"{value!r:.40}")
        return self.constant(value)

    # --- expressions

    def visit(self, node: ast.AST) -> Any:
        """Anything."""
        self.refuse(isinstance(node, _UNSUPPORTED) and node, type(node).__name__)
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.meant:
            return copy.deepcopy(self.meant[node.id])
        if node.id in self.source.locals:
            return ast.copy_location(ast.Name(self.prefix + node.id, node.ctx), node)
        return self.constant_of(self.source.lookup(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.source.named(node)
        if value is not MISSING:
            return self.constant_of(value)
        base = callee(self.source.named(node.value))
        if isinstance(base, Intrinsic):
            name = f"{base.name}.{node.attr}"
            self.refuse(name not in IDENTITY, name)
            return self.mine(IDENTITY[name])
        return self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        parts = (node.lower, node.upper, node.step)
        none = ast.Constant(None)
        return self.call(slice, *(self.visit(p) if p else copy.copy(none) for p in parts))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        members = getattr(self.source.named(node.value), "__members__", {})
        if isinstance(node.slice, ast.Constant) and node.slice.value in members:
            return self.constant_of(members[node.slice.value])
        if self.by_numba(node):
            node.value = self.visit(node.value)
            return node
        return self.call(load, self.visit(node.value), self.visit(node.slice))

    def by_numba(self, node: ast.Subscript) -> bool:
        """Whether nothing can be out of bounds: a field, or a fixed part."""
        index = node.slice
        if isinstance(index, ast.Slice):
            return all(p is None or isinstance(p, ast.Constant) for p in
                       (index.lower, index.upper, index.step))  # fmt: skip
        return _is_field(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.binary(self.visit(node.left), node.op, self.visit(node.right))

    def binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
        """An operation of two numbers; a shift by too much is 0 where PTX does it."""
        if type(op) in SHIFTS:
            return self.call(SHIFTS[type(op)], left, right)
        return ast.BinOp(left, op, right)

    def visit_Call(self, node: ast.Call) -> Any:
        value = self.source.named(node.func)
        if value is MISSING:
            self.refuse(isinstance(node.func, ast.Name), "a variable that is called")
            method = node.func
            if isinstance(method, ast.Attribute) and method.attr == "fill":
                array = self.visit(method.value)
                return self.call(store, array, ast.Constant(...), *map(self.visit, node.args))
            self.generic_visit(node)
            viewed = isinstance(method, ast.Attribute) and method.attr == "view"
            return self.call(in_place, node) if viewed else node
        target = callee(value)
        if isinstance(target, Intrinsic) and intrinsics().get(target.name) is target:
            return self.intrinsic(node, target)
        arguments = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if isinstance(target, DeviceFunction):
            call = self.mine(self.program.device(target), *arguments)
        elif isinstance(target, Type):
            call = self.call(converted, *arguments, self.constant(target.dtype.type))
        else:
            home = getattr(value, "__module__", None) or ""
            fields = isinstance(value, type) and hasattr(value, "_fields")
            alike = home in _HOMES or isinstance(value, np.ufunc) or fields
            self.refuse(not alike or value in _DIFFERENT, f"{ast.unparse(node.func)}()")
            if value in PAIRS and len(arguments) == 2:
                return self.call(PAIRS[value], *arguments)
            call = self.call(SUBSTITUTES.get(value, value), *arguments)
        call.keywords = keywords
        return call

    def intrinsic(self, node: ast.Call, function: Intrinsic) -> Any:
        """A call of something of `numba.cuda`'s."""
        name = function.name
        if function.site:
            return self.own_array(node, name.partition(".")[0])
        self.refuse(node.keywords, "an intrinsic's argument by name")
        if name == "const.array_like":
            return self.visit(node.args[0])
        arguments = [self.visit(a) for a in node.args]
        if name in ("grid", "gridsize"):
            name += ast.unparse(node.args[0])
            arguments = []
        if name in EXCHANGES:
            return self.exchange(name, arguments)
        self.refuse(name not in CALLS, f"cuda.{name}")
        return self.mine(CALLS[name], *arguments)

    def exchange(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """An exchange between threads: each writes its part, waits, and reads the others'."""
        self.refuse(not self.waits, f"{name} in a device function")
        function, place, warp = EXCHANGES[name]
        program = self.program
        program.sites += 1
        site = program.place << SITE_BITS | program.sites
        where: ast.expr = ast.Constant(site)
        if program.passes:
            counts = ast.parse(f"({','.join(program.passes)},)", mode="eval").body
            where = self.call(in_pass, where, counts)
        turn = ast.Yield(ast.UnaryOp(ast.USub(), where) if warp else where)
        if name == "syncwarp" and not arguments:
            arguments = [ast.Constant(0xFFFFFFFF)]
        if function is None:
            return turn
        if place is not None:
            put = put_warp if warp else put_block
            arguments[place : place + 1] = [self.mine(put, arguments[place]), turn]
        else:
            arguments.append(turn)
        return self.mine(function, *arguments)

    def own_array(self, node: ast.Call, space: str) -> ast.expr:
        """A shared or a local array, which lies where the frame says."""
        arguments = dict(zip(("shape", "dtype"), node.args, strict=False))
        arguments |= {k.arg: k.value for k in node.keywords if k.arg}
        shape = self.fixed(arguments["shape"])
        sizes = shape if isinstance(shape, tuple) else (shape,)
        dtype_node = arguments["dtype"]
        text = isinstance(dtype_node, ast.Constant) and dtype_node.value
        kind = text or callee(self.source.named(dtype_node))
        dtype = getattr(kind, "dtype", None) or type_of(kind)
        self.refuse(dtype is None, "the type of an array")
        place = self.program.frame.own(space, tuple(map(int, sizes)), np.dtype(dtype))
        return self.mine(place)

    def fixed(self, node: ast.expr) -> Any:
        """A value that is known before the launch."""
        local = self.source.locals & {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        self.refuse(local, f"a shape that depends on {local}")
        text = ast.fix_missing_locations(ast.Expression(self.visit(node)))
        return eval(compile(text, "<shape>", "eval"), self.names)

    # --- statements

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Constant):
            return ast.Pass()
        inlined = self.inlined(node.value)
        return inlined[0] if inlined else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assign(self, node: ast.Assign) -> Any:
        before, value = self.inlined(node.value) or ([], self.visit(node.value))
        first = node.targets[0]
        called = isinstance(node.value, ast.Call) and callee(self.source.named(node.value.func))
        array = isinstance(called, Intrinsic) and called.site and len(node.targets) == 1
        if array and isinstance(first, ast.Name) and self.stored[first.id] == 1:
            self.meant[first.id] = value  # not kept while others take their turn
            return ast.Pass()
        after: list[ast.stmt] = []
        alone = len(node.targets) == 1 and not isinstance(first, ast.Tuple | ast.List)
        targets = [self.target(t, after, alone) for t in node.targets]
        statements = [*before, ast.Assign(targets, value), *after]
        return [ast.copy_location(s, node) for s in statements]

    def target(self, node: ast.expr, after: list[ast.stmt], alone: bool) -> Any:
        """What is assigned to; elements of arrays, and one of several, are stored afterwards."""
        if isinstance(node, ast.Tuple | ast.List):
            return ast.Tuple([self.target(n, after, alone) for n in node.elts], ast.Store())
        if alone and isinstance(node, ast.Name):
            return self.visit(node)
        name = self.fresh()
        value = ast.Name(name, ast.Load())
        if _is_field(node):
            after += self.store_field(node, lambda old: value)
        elif isinstance(node, ast.Subscript):
            call = self.call(store, self.visit(node.value), self.visit(node.slice), value)
            after.append(ast.Expr(call))
        else:
            after.append(ast.Assign([self.visit(node)], value))
        return ast.Name(name, ast.Store())

    def store_field(self, node: Any, new: Callable[[ast.expr], ast.expr]) -> list[ast.stmt]:
        """Gives a field of a record another value, which may depend on what it has."""
        record = self.fresh()
        first = ast.Assign([ast.Name(record, ast.Store())], self.visit(node.value))
        node.value = ast.Name(record, ast.Load())
        old = copy.deepcopy(node)
        old.ctx = ast.Load()
        return [first, ast.Assign([node], self.call(converted, new(old), old))]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Name):
            old: ast.expr = ast.Name(target.id, ast.Load())
            return self.visit_Assign(
                ast.copy_location(ast.Assign([target], ast.BinOp(old, node.op, node.value)), node)
            )
        if _is_field(target):
            value = self.visit(node.value)
            statements = self.store_field(target, lambda old: self.binary(old, node.op, value))
            return [ast.copy_location(s, node) for s in statements]
        if not isinstance(target, ast.Subscript) or self.by_numba(target):
            return self.generic_visit(node)
        name = self.fresh()
        array, index = self.visit(target.value), ast.Name(name, ast.Load())
        old = self.call(load, array, index)
        new = self.binary(old, node.op, self.visit(node.value))
        statements = [
            ast.Assign([ast.Name(name, ast.Store())], self.visit(target.slice)),
            ast.Expr(self.call(store, copy.deepcopy(array), copy.copy(index), new)),
        ]
        return [ast.copy_location(s, node) for s in statements]

    def visit_For(self, node: ast.For) -> Any:
        self.refuse(any(isinstance(n, ast.Subscript) for n in ast.walk(node.target)), "a target")
        return self.loop(node)

    def visit_While(self, node: ast.While) -> Any:
        assigned = syntax.bound([node])
        self.refuse(not assigned or syntax.is_endless(node, assigned), "a loop that waits")
        return self.loop(node)

    def loop(self, node: ast.For | ast.While) -> Any:
        """A loop that may run long can be interrupted; one with barriers counts its iterations."""
        outer = any(isinstance(n, ast.For | ast.While) for s in node.body for n in ast.walk(s))
        sites, count = self.program.sites, self.fresh()
        self.program.passes.append(count)
        self.generic_visit(node)
        self.program.passes.pop()
        if outer or isinstance(node, ast.While):
            node.body.insert(0, ast.Expr(self.mine(look)))
        if sites == self.program.sites:
            return node
        node.body[:0] = ast.parse(f"{count} += 1").body
        return [*ast.parse(f"{count} = 0").body, node]

    def visit_Return(self, node: ast.Return) -> Any:
        self.refuse(self.prefix, "a return on the way to others")
        if self.waits and self.program.turns:
            return [ast.Expr(self.mine(leave, ast.Constant(self.program.place))), node]
        return self.generic_visit(node)

    # --- functions in which threads wait: they are written out where they are called

    def inlined(self, call: ast.expr) -> tuple[list[ast.stmt], ast.expr] | None:
        """The statements of a function that is called and its result, if threads wait in it."""
        function = isinstance(call, ast.Call) and callee(self.source.named(call.func))
        if not (isinstance(function, DeviceFunction) and isinstance(call, ast.Call)):
            return None
        source = self.program.program.source_of(function)
        if not self.program.meets(source):
            return None
        parameters = [a.arg for a in source.tree.args.args]
        self.refuse(call.keywords or len(parameters) != len(call.args), "arguments by name")
        inner = _Rewriter(self.program, source, f"{self.fresh()}_")
        inner.names, inner.waits = self.names, self.waits
        body = list(inner.tree.body)
        result = body.pop() if isinstance(body[-1], ast.Return) else ast.Return(None)
        first = inner.unset(device_types(function.dispatcher))
        first += [
            ast.Assign([ast.Name(inner.prefix + name, ast.Store())], self.visit(value))
            for name, value in zip(parameters, call.args, strict=True)
        ]
        statements = [*first, *inner.suite(body)]
        value = getattr(result, "value", None)
        return statements, inner.visit(value) if value else ast.Constant(None)

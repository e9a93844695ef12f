"""Translates a kernel's syntax tree, once, into a Python function that runs all threads.

Each expression becomes calls that take and give *values* (see `values`); each statement
acts on the threads in `m.mask`. What the machine `m` must offer is exactly what the text
made here calls. The kernel

    if i < n:
        out[i] = 2 * x[i]

becomes, in essence,

    _b1 = m.branch(Lt(v_i, v_n))          # m.mask is now the threads that take it
    if m.mask is not EMPTY:
        m.store(v_out, v_i, Mult(2, m.load(v_x, v_i)))
    m.mask = _b1[0]                       # together again
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gpulearn.simt.core.program import Translation
from gpulearn.simt.core.source import KernelSource
from gpulearn.simt.frontend.expressions import Expressions
from gpulearn.simt.frontend.joins import RETURNED, Types, types_of_reads
from gpulearn.simt.frontend.scope import REFUSED

__all__ = ["translate"]


def _bound(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that statements assign to, not counting those of inner functions."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _leaves(statement: ast.stmt, *, inside_loop: bool = False) -> bool:
    """Whether threads can leave the enclosing suite in this statement."""
    if isinstance(statement, ast.Return | ast.Raise):
        return True
    if isinstance(statement, ast.Break | ast.Continue):
        return not inside_loop
    if isinstance(statement, ast.If):
        suites = [statement.body, statement.orelse]
        return any(_leaves(s, inside_loop=inside_loop) for suite in suites for s in suite)
    if isinstance(statement, ast.For | ast.While):
        if any(_leaves(s, inside_loop=True) for s in statement.body):
            return True
        return any(_leaves(s, inside_loop=inside_loop) for s in statement.orelse)
    return False


_PLAIN = (
    ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp,
    ast.expr_context, ast.cmpop, ast.boolop, ast.operator, ast.unaryop,
)  # fmt: skip


def _hopeless(loop: ast.While, assigned: set[str]) -> bool:
    """Whether a thread that has begun a loop can never leave it."""
    test = list(ast.walk(loop.test))
    inside = [n for s in loop.body for n in ast.walk(s)]
    return (
        all(isinstance(n, _PLAIN) for n in test)
        and not assigned & {n.id for n in test if isinstance(n, ast.Name)}
        and not any(isinstance(n, ast.Break | ast.Return | ast.Raise) for n in inside)
    )


class _Statements(Expressions):
    """Writes the text of one translation and collects the constants that it names."""

    # --- small tools

    # --- names

    # --- expressions

    # --- statements

    def suite(self, statements: list[ast.stmt]) -> None:
        opened = 0
        for position, statement in enumerate(statements):
            self.statement(statement)
            rest = statements[position + 1 :]
            if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
                break
            if rest and _leaves(statement):
                self.say("if m.mask is not EMPTY:")
                self.depth += 1
                opened += 1
        if not statements:
            self.say("pass")
        self.depth -= opened

    def statement(self, node: ast.stmt) -> None:
        method = getattr(self, f"_do_{type(node).__name__}", None)
        if method is None:
            what = REFUSED.get(type(node))
            if what is not None:
                raise self.refuse(node, what)
            what = type(node).__name__.removesuffix("Def").lower()
            raise self.refuse(node, f"a statement `{what}`", "unsupported")
        method(node)

    def assign(self, target: ast.expr, text: str) -> None:
        if isinstance(target, ast.Name):
            fixed = self.types.get((target.id, target.lineno))
            if fixed is not None and self.chosen:
                text = f"settle({text}, {self.constant(fixed)})"
            self.say(f"v_{target.id} = m.put(v_{target.id}, {text})")
            if target.id in self.watched:
                self.say(f"d_{target.id} = union(d_{target.id}, m.mask)")
        elif isinstance(target, ast.Tuple | ast.List):
            if any(isinstance(e, ast.Starred) for e in target.elts):
                raise self.refuse(target, "a starred target")
            name = self.fresh("t")
            self.say(f"{name} = m.unpack({text}, {len(target.elts)})")
            for position, element in enumerate(target.elts):
                self.assign(element, f"{name}[{position}]")
        elif isinstance(target, ast.Subscript):
            base, index = self.expression(target.value), self.expression(target.slice)
            value = self.fresh("t")
            self.say(f"{value} = {text}")
            self.say(f"m.store({base}, {index}, {value})")
        elif isinstance(target, ast.Attribute):
            base = self.expression(target.value)
            self.say(f"m.set_attribute({base}, {target.attr!r}, {text})")
        else:
            raise self.refuse(target, f"assigning to `{ast.unparse(target)}`")

    def _do_Assign(self, node: ast.Assign) -> None:  # noqa: N802
        self.at(node)
        first = node.targets[0]
        self.target = first.id if isinstance(first, ast.Name) else ""
        # which of several values, and so which type, may depend on the path
        self.chosen = any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(node.value))
        text = self.expression(node.value)
        self.target = ""
        if len(node.targets) > 1:
            name = self.fresh("t")
            self.say(f"{name} = {text}")
            text = name
        for target in node.targets:
            self.assign(target, text)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:  # noqa: N802
        if node.value is not None:
            self.at(node)
            self.assign(node.target, self.expression(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:  # noqa: N802
        self.at(node)
        target = node.target
        value = self.expression(node.value)
        if isinstance(target, ast.Name):
            self.assign(target, self.binary(node, node.op, self.variable(target), value))
        elif isinstance(target, ast.Subscript):
            base, index = self.fresh("t"), self.fresh("t")
            self.say(f"{base} = {self.expression(target.value)}")
            self.say(f"{index} = {self.expression(target.slice)}")
            old = f"m.load({base}, {index})"
            self.say(f"m.store({base}, {index}, {self.binary(node, node.op, old, value)})")
        else:
            base = self.fresh("t")
            self.say(f"{base} = {self.expression(target.value)}")
            new = self.binary(node, node.op, f"m.attribute({base}, {target.attr!r})", value)
            self.say(f"m.set_attribute({base}, {target.attr!r}, {new})")

    def _do_Expr(self, node: ast.Expr) -> None:  # noqa: N802
        if isinstance(node.value, ast.Constant):
            return
        self.at(node)
        self.unused = node.value
        self.say(self.expression(node.value))
        self.unused = None

    def _do_FunctionDef(self, node: ast.FunctionDef) -> None:  # noqa: N802
        names = self.inner(node.args, node)
        name = self.fresh("d")
        self.say(f"def {name}(m{names}):")
        self.depth += 1
        self.say("_f = m.enter()")
        bound = _bound(node.body)
        if bound:
            self.say(" = ".join(f"v_{n}" for n in sorted(bound)) + " = UNDEFINED")
        loops, self.loops = self.loops, []
        self.suite(node.body)
        self.loops = loops
        self.say("return m.exit(_f)")
        self.depth -= 1
        self.say(f"v_{node.name} = LocalFunction({name})")

    def _do_Pass(self, node: ast.Pass) -> None:  # noqa: N802
        self.say("pass")

    def _do_Delete(self, node: ast.Delete) -> None:  # noqa: N802
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise self.refuse(node, f"`{ast.unparse(node)}`")
            self.say(f"v_{target.id} = UNDEFINED")
            if target.id in self.watched:
                self.say(f"d_{target.id} = EMPTY")

    def _do_Assert(self, node: ast.Assert) -> None:  # noqa: N802
        self.at(node)
        self.say(f"m.check({self.expression(node.test)})")

    def _do_Raise(self, node: ast.Raise) -> None:  # noqa: N802
        self.at(node)
        self.say("m.give_back(_f, UNDEFINED)")

    def _do_Return(self, node: ast.Return) -> None:  # noqa: N802
        self.at(node)
        value = self.expression(node.value) if node.value else "None"
        fixed = self.types.get((RETURNED, 0))
        if fixed is not None:
            value = f"settle({value}, {self.constant(fixed)})"
        self.say(f"m.give_back(_f, {value})")

    def _do_Break(self, node: ast.Break) -> None:  # noqa: N802
        self.at(node)
        self.say(f"{self.loops[-1]}.leave()")

    def _do_Continue(self, node: ast.Continue) -> None:  # noqa: N802
        self.at(node)
        self.say(f"{self.loops[-1]}.skip()")

    def _do_If(self, node: ast.If) -> None:  # noqa: N802
        self.at(node)
        branch = self.fresh("b")
        leaves = _leaves(node)
        self.say(f"{branch} = m.branch({self.expression(node.test)})")
        self.say("if m.mask is not EMPTY:")
        self.indented(node.body)
        end = self.fresh("e")
        if leaves:
            self.say(f"{end} = m.mask")
        if node.orelse:
            self.say(f"m.mask = {branch}[1]")
            self.say("if m.mask is not EMPTY:")
            self.indented(node.orelse)
            if leaves:
                self.say(f"m.mask = m.rejoin({branch}[0], {end}, m.mask)")
        elif leaves:
            self.say(f"m.mask = m.rejoin({branch}[0], {end}, {branch}[1])")
        if not leaves:
            self.say(f"m.mask = {branch}[0]")

    def indented(self, statements: Iterable[ast.stmt]) -> None:
        self.depth += 1
        self.suite(list(statements))
        self.depth -= 1

    def loop_leaves(self, node: ast.For | ast.While) -> bool:
        return any(_leaves(s) for s in node.body)

    def finish_loop(self, loop: str, node: ast.For | ast.While) -> None:
        self.say(f"{loop}.finish()")
        if node.orelse:
            self.say("if m.mask is not EMPTY:")
            self.indented(node.orelse)
        self.say(f"{loop}.close()")

    def _do_For(self, node: ast.For) -> None:  # noqa: N802
        self.at(node)
        loop, item = self.fresh("l"), self.fresh("x")
        text = self.expression(node.iter)
        self.say(f"{loop} = Loop(m, {text}, {self.place(node)}, {self.loop_leaves(node)})")
        self.say(f"for {item} in {loop}:")
        self.loops.append(loop)
        self.depth += 1
        self.assign(node.target, item)
        self.suite(node.body)
        self.depth -= 1
        self.loops.pop()
        self.finish_loop(loop, node)

    def _do_While(self, node: ast.While) -> None:  # noqa: N802
        loop = self.fresh("l")
        inside = [n for s in node.body for n in ast.walk(s)]
        waits = not any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) for n in inside)
        leaves = self.loop_leaves(node)
        state = sorted(_bound([node]))
        hopeless = _hopeless(node, set(state))
        self.say(f"{loop} = Repeat(m, {self.place(node)}, {leaves}, {waits}, {hopeless})")
        test = self.expression(node.test)
        names = ", ".join(f"v_{name}" for name in state)
        self.say(f"while {loop}.again({names}) and {loop}.test({test}):")
        self.loops.append(loop)
        self.indented(node.body)
        self.loops.pop()
        self.finish_loop(loop, node)

    # --- the whole

    def function(self) -> Translation:
        tree = self.source.tree
        arguments = tree.args
        self.reads = types_of_reads(self.source, self.types)
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise self.refuse(tree, "*args or **kwargs")
        parameters = self.source.parameters
        self.suite(tree.body)
        head = [f"def run(m{''.join(f', v_{p}' for p in parameters)}):", "    _f = m.enter()"]
        unset = sorted(_bound(tree.body) - set(parameters))
        if unset:
            head.append("    " + " = ".join(f"v_{name}" for name in unset) + " = UNDEFINED")
        watched = sorted(self.watched)
        if watched:  # which threads have set them
            head.append("    " + " = ".join(f"d_{name}" for name in watched) + " = EMPTY")
        text = "\n".join([*head, *self.lines, "    return m.exit(_f)", ""])
        exec(compile(text, f"<simt {self.source.name}>", "exec"), self.names)
        run: Translation = self.names["run"]
        run.__doc__ = text
        return run


def translate(source: KernelSource, types: Types | None = None, *, counting: bool) -> Translation:
    """The function `run(m, *arguments)` that carries out a kernel on a machine `m`.

    `types` gives variables whose type Numba fixed beforehand; `counting` adds the calls
    that the counters need. The generated text is the function's docstring.

    Raises:
        Stop: with the finding `not-a-kernel` or `unsupported`, at its line.
    """
    return _Statements(source, types or {}, counting=counting).function()

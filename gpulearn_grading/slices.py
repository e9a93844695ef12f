"""What of a submission an answer needs: a slice of the program, in the sense of M. Weiser (1984).

A notebook does much beside its answers, which need not run to grade them: it draws, trains and
waits. The slice of a name holds the statements that give it its value, and those that the names
in them need, in their order.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from gpulearn.judge import stubs
from gpulearn_grading.submissions import FUNCTIONS, Statement, SubmittedCode

SETS = re.compile(r"\.(set_?|seed|manual_seed)\w*$")


def answer_in(
    code: SubmittedCode, name: str, notes: dict[str, str]
) -> tuple[Path | None, list[Statement]]:
    """The file with the answer that counts, and what the answer needs of it.

    The last one counts: of files that which was modified last, of a file what runs last. A stub
    counts only where nothing else defines the name.
    """
    answers = [
        (path, part)
        for path, statements in code.files.items()
        for part in statements
        if name in part.defines
    ]
    answers = [(path, part) for path, part in answers if not is_stub(part.node)] or answers
    # elsewhere the name may be that of a variable
    answers = [(path, part) for path, part in answers if is_written_out(part.node)] or answers
    if not answers:
        return None, []
    chosen = answers[-1][0]
    if len({ast.dump(part.node) for _, part in answers if isinstance(part.node, FUNCTIONS)}) > 1:
        names = dict.fromkeys(path.name for path, _ in answers)
        notes["has several answers, the last counts"] = ", ".join(names)
    return chosen, slice_of(code.files[chosen], name)


def slice_of(statements: Sequence[Statement], name: str) -> list[Statement]:
    """The statements that a name needs, in their order; none if nothing defines it.

    >>> code = "import math; a = 2; b = 3" + chr(10) + "def f(x): return a * math.sqrt(x)"
    >>> parts = [Statement(node, ast.unparse(node), code) for node in ast.parse(code).body]
    >>> [part.text for part in slice_of(parts, "f")][:2]
    ['import math', 'a = 2']
    """
    binding, changing = defaultdict(list), defaultdict(list)  # name → numbers of statements
    for number, part in enumerate(statements):
        for bound in part.binds:
            binding[bound].append(number)
        for changed in part.changes:
            changing[changed].append(number)
    needed: set[int] = set()
    pending, done = [name], set[str]()
    while pending:
        if (looked_up := pending.pop()) in done:
            continue
        done.add(looked_up)
        for number in _making(statements, binding[looked_up], changing[looked_up]):
            if number not in needed:
                needed.add(number)
                pending += globals_of(statements[number].text)
    if not needed:
        return []
    for number, part in enumerate(statements):
        if isinstance(part.node, ast.ImportFrom) and (_is_future(part) or "*" in part.binds):
            needed.add(number)
    in_order = [statements[number] for number in sorted(needed)]
    return sorted(in_order, key=lambda part: not _is_future(part))  # these must come first


def _making(
    statements: Sequence[Statement], binding: Sequence[int], changing: Sequence[int]
) -> list[int]:
    """Of the statements that bind a name or change what it stands for those from its `def` on."""
    # a stub that stands below the answer, or above it, is not what was handed in
    binding = [n for n in binding if not is_stub(statements[n].node)] or binding
    if not binding:
        return []
    defs = [n for n in binding if isinstance(statements[n].node, FUNCTIONS)]
    first = defs[-1] if defs else binding[0]
    origin = statements[first].node
    start = origin.body if isinstance(origin, ast.Try) else [origin]
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in start):
        # a module is changed by what is set in it, and not by each loop that calls its functions
        changing = [n for n in changing if _sets(statements[n].node)]
    return [n for n in {*changing, *binding} if n >= first]


def is_written_out(node: ast.stmt) -> bool:
    """Whether a statement is a function, a lambda or a text, such as one in CUDA C++."""
    if isinstance(node, ast.If | ast.Try | ast.With):
        return any(map(is_written_out, node.body))
    value = node.value if isinstance(node, ast.Assign) else node
    if isinstance(value, ast.Call):
        return "cpp" in (getattr(value.func, "attr", ""), getattr(value.func, "id", ""))
    return isinstance(value, ast.FunctionDef | ast.Lambda | ast.Constant)


def is_stub(node: ast.stmt) -> bool:
    """Whether a statement is a function that is still to be written."""
    return isinstance(node, ast.FunctionDef) and stubs.unfinished(node)


def globals_of(text: str) -> set[str]:
    """The names of a statement that are looked up, or set, outside of its functions.

    >>> sorted(globals_of("def f(x): n = len(x); return n * scale"))
    ['f', 'len', 'scale']
    """
    top = symtable.symtable(text, "submission", "exec")
    names = {name.get_name() for name in top.get_symbols() if not name.is_imported()}
    tables = top.get_children()
    for inner in tables:
        names |= {name.get_name() for name in inner.get_symbols() if name.is_global()}
        tables += inner.get_children()
    return names


def _sets(node: ast.stmt) -> bool:
    """Whether a statement sets an attribute or an option, or seeds."""
    call = isinstance(node, ast.Expr) and SETS.search(ast.unparse(node).partition("(")[0])
    return bool(call) or isinstance(node, ast.Assign | ast.AugAssign)


def _is_future(part: Statement) -> bool:
    return isinstance(part.node, ast.ImportFrom) and part.node.module == "__future__"

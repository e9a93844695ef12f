"""What a kernel may cost: budgets on the counters of the SIMT machine, each with its advice."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from simt.observers.counters import Counts
from simt.observers.trace import IDLE
from simt.observers.traffic import WARP

if TYPE_CHECKING:
    from gpulearn.judge.launches import Launch
    from simt.report.report import Report

Limit = Callable[["Launch"], int]

SLACK = 1e-6  # so that a mean that equals the budget is within it
LANES = 2.5  # of a warp: a kernel whose lanes work comes to 25 and more, one of single threads to 2
FLOAT64 = (
    "Numbers with a point, np.float64, and a float32 together with an int32 or int64 are float64 "
    "by Numba's types: take np.float32 in their place."
)
ALONE = (
    "One thread does the work of many, one element after the other: let each thread find its own "
    "share by its number."
)


@dataclass(frozen=True)
class Budget:
    """A limit on a cost, and what to do about it.

    Attributes:
        excess: what is too much about a launch, as the end of a sentence, or None.
        advice: one or two sentences; the hint of every known answer that exceeds it.
    """

    excess: Callable[[Report, Launch], str | None]
    advice: str


def _at_most(
    limit: float | Limit,
    advice: str,
    text: str,
    count: Callable[[Counts, Report], float],
    *,
    of: int | None = None,
    each_line: bool = False,
) -> Budget:
    """A budget on a number of the whole launch, of the array at position `of`, or of each line.

    `text` says the number, with {count}, {s} for its plural, {name} of the array and {line}, the
    one that costs most.
    """

    def excess(report: Report, launch: Launch) -> str | None:
        name = "" if of is None else launch.names(report)[of]
        counts = report.arrays[name] if name else report.totals
        line, worst = _worst(report, lambda counts: count(counts, report))
        number = worst if each_line else count(counts, report)
        allowed = limit(launch) if callable(limit) else limit
        if number <= allowed + SLACK:
            return None
        s = "s" * (f"{number:.3g}" != "1")
        sentence = text.format(count=number, s=s, name=name, line=_line(report, line))
        return f"{sentence}, the budget is {f'{allowed:,}'.removesuffix('.0')}"

    return Budget(excess, advice)


def _worst(report: Report, cost: Callable[[Counts], float]) -> tuple[int, float]:
    """The line that costs most, and what it costs."""
    costs = {line: cost(counts) for line, counts in report.lines.items()}
    return max(costs.items(), key=lambda item: item[1], default=(0, 0))


def _warps(report: Report) -> int:
    return math.prod(report.grid) * -(-math.prod(report.block) // WARP)


def sectors_per_request(limit: float, *, advice: str, only: str = "") -> Budget:
    """At most so many 32-byte sectors per global load or store request, on each line.

    `only` may be "load" or "store".
    """

    def excess(report: Report, launch: Launch) -> str | None:
        for kind in [only] if only else ["load", "store"]:
            line, mean = _worst(report, lambda c: getattr(c, f"sectors_per_{kind}"))  # noqa: B023
            if mean > limit + SLACK:
                return (
                    f"{_line(report, line)} moves {mean:.3g} sectors per {kind} request, "
                    f"the budget is {limit:g}{_spacing(report, line, kind)}"
                )
        return None

    return Budget(excess, advice)


def bank_conflicts(limit: float, *, advice: str) -> Budget:
    """At most so many shared-memory bank conflicts per request, on each line."""

    def mean(counts: Counts, report: Report) -> float:
        conflicts = counts.shared_load_conflicts + counts.shared_store_conflicts
        passes = counts.shared_load_wavefronts + counts.shared_store_wavefronts
        return conflicts / (passes - conflicts) if conflicts else 0.0

    text = "{line} meets {count:.3g} bank conflict{s} per request"
    return _at_most(limit, advice, text, mean, each_line=True)


def barriers(limit: int | Limit, *, advice: str) -> Budget:
    """At most so many barriers that each warp passes."""
    text = "each warp passes {count:.3g} barrier{s}"
    return _at_most(limit, advice, text, lambda counts, report: counts.barriers / _warps(report))


def bytes_moved(limit: Limit, *, advice: str, of: int | None = None) -> Budget:
    """At most so many bytes to and from global memory, or to and from one argument.

    In whole sectors; an atomic update counts its element twice, read and written.
    """

    def excess(report: Report, launch: Launch) -> str | None:
        names = launch.names(report)
        if of is not None:
            names = {of: names[of]}
        moved = (report.totals if of is None else report.arrays[names[of]]).bytes_moved
        for position, name in names.items():
            moved += report.arrays[name].atomics * 2 * launch.args[position].itemsize
        if moved <= limit(launch):
            return None
        what = "global memory" if of is None else names[of]
        return f"it moves {moved:,} bytes of {what}, the budget is {limit(launch):,}"

    return Budget(excess, advice)


def accesses(limit: Limit, *, of: int, advice: str) -> Budget:
    """At most so many reads and writes of the elements of an argument, however they lie in memory.

    Counted are lanes, not sectors, so that it does not matter which of them go together.
    """

    def excess(report: Report, launch: Launch) -> str | None:
        name = launch.names(report)[of]
        counts = report.arrays[name]
        count = counts.bytes_requested // launch.args[of].itemsize
        if count <= limit(launch):
            return None
        verb = "read or write" if counts.global_store_requests else "read"
        times = f"{count:,} times, the budget is {limit(launch):,}"
        return f"its threads {verb} elements of {name} {times}"

    return Budget(excess, advice)


def requests(limit: Limit, *, advice: str, of: int | None = None) -> Budget:
    """At most so many loads and stores of global memory, or of one argument, by warps at once."""

    def count(counts: Counts, report: Report) -> int:
        return counts.global_load_requests + counts.global_store_requests

    return _at_most(limit, advice, "its warps load and store {count:,} times", count, of=of)


def atomics(limit: Limit, *, of: int, advice: str) -> Budget:
    """At most so many atomic operations on the argument at position `of`."""
    text = "it does {count:,} atomic operations on {name}"
    return _at_most(limit, advice, text, lambda counts, report: counts.atomics, of=of)


def contention(limit: int, *, advice: str) -> Budget:
    """At most so many lanes of one request at one address, on each line with atomics."""
    text = "{line} sends {count} lanes to one address"
    return _at_most(
        limit, advice, text, lambda counts, report: counts.atomic_contention, each_line=True
    )


def divergence(limit: Limit, *, advice: str) -> Budget:
    """At most so many branches at which the lanes of a warp part."""
    text = "warps part {count:,} times, most often in {line}"
    return _at_most(limit, advice, text, lambda counts, report: counts.divergent_branches)


def shared_memory(*, advice: str, read: bool = True) -> Budget:
    """Shared memory has to be used: written to and, unless `read` is false, read."""

    def excess(report: Report, launch: Launch) -> str | None:
        if not report.totals.shared_store_wavefronts:
            return "it never writes to shared memory"
        if read and not report.totals.shared_load_wavefronts:
            return "it never reads what it writes to shared memory"
        return None

    return Budget(excess, advice)


def shared_passes(limit: int, *, advice: str) -> Budget:
    """At most so many passes over shared memory for each block, loads and stores together."""

    def count(counts: Counts, report: Report) -> float:
        passes = counts.shared_load_wavefronts + counts.shared_store_wavefronts
        return passes / math.prod(report.grid)

    return _at_most(limit, advice, "each block passes over shared memory {count:,.0f} times", count)


def instructions(limit: float, *, advice: str) -> Budget:
    """At most so many statements that each warp carries out, on average."""
    text = "each warp carries out {count:.0f} statements"
    return _at_most(
        limit, advice, text, lambda counts, report: counts.instructions / _warps(report)
    )


def lanes(*, advice: str) -> Budget:
    """More than a lane or two of each warp have to work, on average over the launch."""

    def excess(report: Report, launch: Launch) -> str | None:
        mean = report.totals.lanes_per_instruction
        if mean >= min(LANES, math.prod(report.block)):
            return None
        digits = next(n for n in range(2, 17) if float(f"{mean:.{n}g}") < LANES)
        at_work = f"only {mean:.{digits}g} are at work, the budget is {LANES:g} or more"
        return f"of 32 threads on average {at_work}"

    return Budget(excess, advice)


def float64(*, advice: str, begun: bool = False) -> Budget:
    """No float64 arithmetic; with `begun` none that the number brings with which a sum begins."""

    def excess(report: Report, launch: Launch) -> str | None:
        if not report.totals.flops64:
            return None
        # where float64 comes in; what is computed from that is float64 as well
        first = min(n for n, counts in report.lines.items() if counts.flops64)
        if begun and not _begins_plain(report, first):
            return None
        count = report.lines[first].flops64
        return f"{_line(report, first)} does {count:,} operations in float64, the budget is none"

    return Budget(excess, advice)


def _begins_plain(report: Report, line: int) -> bool:
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


def float64_sums(*, advice: str) -> tuple[Budget, Budget]:
    """No float64 arithmetic, where the advice is about the number with which a sum begins.

    Where float64 comes in by another way, that is said instead.
    """
    return float64(advice=advice, begun=True), float64(advice=FLOAT64)


def operations(limit: Limit, *, advice: str) -> Budget:
    """At most so many floating-point operations, of both sizes together."""
    text = "it does {count:,} floating-point operations"
    return _at_most(limit, advice, text, lambda counts, report: counts.flops32 + counts.flops64)


def _line(report: Report, number: int) -> str:
    text = report.source.get(number, "").strip()
    return f"line {number} (`{text}`)" if text else f"line {number}"


def _spacing(report: Report, line: int, kind: str) -> str:
    """How far apart neighboring lanes read or write in a line, where it is one distance."""
    for step in report.steps or ():
        for touch in step.touches:
            if (step.line, touch.kind, touch.space) == (line, kind, "global"):
                lanes = [e for e in touch.warp(touch.warps()[0]) if e != IDLE]
                gaps = {abs(b - a) * touch.size for a, b in pairwise(lanes)}
                if len(gaps) == 1 and (gap := gaps.pop()) > touch.size:
                    size = f"{gap:,} bytes" if gap % 1024 else f"{gap // 1024} KB"
                    return f": neighboring lanes are {size} apart"
    return ""

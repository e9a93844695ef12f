"""Exercises whose answer is a kernel: tried on the SIMT machine, and on the GPU if there is one."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.errors import MachineFault
from gpulearn.judge import compare, launches, patterns
from gpulearn.judge.answers import Answer
from gpulearn.judge.budgets import ALONE, Budget, lanes
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn.judge.launches import Launch as Launch
from gpulearn.judge.stubs import uncalled
from gpulearn.kernels.specification import Array, Specification, poison
from gpulearn.require import shown
from simt.core.findings import Finding
from simt.core.registry import python_function
from simt.cpp.source import CppSource
from simt.device import selection
from simt.host import api
from simt.host.dispatcher import Configured, Kernel, Launchable
from simt.host.settings import block_order
from simt.host.xray import xray
from simt.observers.balance import Shares
from simt.report.report import Report

# Outcomes that hardware allows and that an answer must survive: each gives another order of
# blocks, and another winner where threads race.
SEEDS = (0, 1)
# times its share, a busiest thread, warp or block; a warp makes as many as its busiest lane
UNEVEN = {"thread": 3.0, "warp": 2.0, "block": 2.0}
SHARE = (
    "The work is divided unevenly: let every thread of the grid compute its own share from its "
    "number."
)


@dataclass(frozen=True)
class Outcome:
    """What a kernel did: the arrays that it left behind, and the machine's report."""

    results: tuple[Array, ...]
    report: Report
    launch: Launch

    @property
    def finding(self) -> Finding | None:
        """The first finding that makes the launch wrong, or right on some GPUs only."""
        wrong = (
            finding
            for finding in self.report.findings
            if finding.severity == "error" or finding.kind == "left-before-barrier"
        )
        return next(wrong, None)

    @property
    def endless(self) -> bool:
        """Whether it was stopped because it would have gone on forever."""
        return self.finding is not None and self.finding.kind == "no-progress"

    @property
    def touched(self) -> tuple[bool, ...]:
        """Of each result whether anything is written to it, even if that leaves it as it was."""
        names = self.launch.names(self.report)
        return tuple(stores(self, names[p]) for p in self.launch.results if p in names)

    @property
    def evidence(self) -> str:
        """The finding as a sentence with the line that it quotes, or ""."""
        return self.sentence(self.finding)

    def sentence(self, finding: Finding | None) -> str:
        """A finding as a sentence with the line that it quotes, or ""."""
        if finding is None:
            return ""
        text = self.report.source.get(finding.line or 0, "").strip()
        quoted = f" (`{text}`)" if text and not finding.function else ""
        where = str(finding).partition(": ")[0] + quoted + ": " if finding.line else ""
        return f"{where}{finding.message}."


def kernel_exercise(
    specification: Specification,
    *,
    task: str,
    cases: Callable[[], Sequence[Launch]],
    budgets: Sequence[Budget] = (),
    alone: str = ALONE,
    busiest: Mapping[str, tuple[int, float]] | None = None,
) -> Exercise:
    """An exercise whose answer is a kernel.

    Args:
        specification: of the tested kernel that is its solution, and gives it its name.
        task: one sentence.
        cases: makes the launches anew for each check.
        budgets: what a right kernel may cost; the first that is exceeded is told.
        alone: the advice to a right kernel in which single threads do everything.
        busiest: "thread", "warp" or "block" → how many accesses to memory the busiest one makes in
            a right kernel that is less even than the solution, and how many times the mean that is.
    """
    limits = [lanes(advice=alone), *budgets, even(specification.kernel, cases, busiest or {})]
    return Exercise(
        task=task,
        reference=specification.kernel,
        cases=cases,
        run=run,
        fault=no_kernel,
        ready=as_kernel,
        expect=lambda case: tuple(specification.expected(*case.args).values()),
        difference=difference,
        demand=lambda answer, outcomes: over_budget(limits, outcomes),
        kinships=(same_results, same_finding),
    )


def even(
    solution: Answer,
    cases: Callable[[], Sequence[Launch]],
    busiest: Mapping[str, tuple[int, float]],
) -> Budget:
    """No thread, warp or block makes far more accesses to memory than its share.

    Its share is the mean of the answer's own, if the busiest of a right answer exceeds it by as
    much, and never less than the busiest of a right answer has. The largest launch is judged: in
    a small one there may be too little to share out. Blocks are told apart where there are three
    of them, or more.
    """

    @functools.cache
    def largest() -> tuple[str, Shares]:
        measured = [c for c in cases() if c.measured] or cases()
        launch = max(measured, key=lambda c: np.prod(c.grid) * np.prod(c.block))
        return launch.label, simulate(solution, launch).report.shares

    def excess(report: Report, launch: Launch) -> str | None:
        label, shares = largest()
        if launch.label != label:
            return None
        for level, factor in UNEVEN.items():
            most, mean = getattr(report.shares, level)
            usual, usual_mean = getattr(shares, level)
            other, above = busiest.get(level, (0, 1.0))
            above = max(above, usual / usual_mean if usual_mean else 1.0)
            share = mean * above if level != "thread" else mean
            if most > factor * max(share, 1, usual, other):
                return (
                    f"one {level} makes {most:,} accesses to memory, where {mean:,.1f} is the mean "
                    f"of all and no {level} of the solution makes more than {usual:,}"
                )
        return None

    return Budget(excess, SHARE)


def no_kernel(answer: Answer) -> str | None:
    """Why an answer cannot be launched, whatever its lines say; None if it can be tried.

    A plain function can: the check puts the decorator over it.
    """
    decorator = f"write @cuda.jit over def {getattr(answer, '__name__', 'kernel')}(…)"
    options = getattr(answer, "targetoptions", {})
    if named := uncalled(answer):
        return f"{named} is named and not called: write {named}() with parentheses."
    if getattr(answer, "device", False) is True or options.get("device"):
        return "it is a device function, which only kernels can call: leave out device=True."
    if hasattr(answer, "griddim") or isinstance(answer, Configured):
        return "it comes with the shape of a launch: give the kernel alone, without [ ]."
    if python_function(answer) is None:
        return None if hasattr(answer, "__code__") else f"it is {shown(answer)}: {decorator}."
    of_the_cpu = not isinstance(answer, Kernel) and ".cuda" not in type(answer).__module__
    return f"it is compiled for the CPU: {decorator}, not jit or njit." if of_the_cpu else None


def as_kernel(answer: Answer) -> Answer:
    """A plain function as a kernel: its source is read, judged and translated once for all cases.

    What a GPU runs as well stays as it is, since it keeps what it has compiled; so does CUDA C++.
    """
    ready = python_function(answer) or isinstance(answer, Launchable)
    return answer if ready else Kernel(answer)


def run(answer: Answer, case: Case) -> Outcome:
    """Launch an answer under the SIMT machine, once per seed; stop where it goes wrong.

    On a computer with a GPU, an answer without findings runs there as well, and must agree.
    """
    assert isinstance(case, Launch)
    outcomes: list[Outcome] = []
    for number in SEEDS:
        with block_order(number):
            outcomes.append(simulate(answer, case))
        if outcomes[-1].finding:
            return outcomes[-1]
    for other in outcomes[1:]:
        if difference(other, outcomes[0].results):
            raise Violation(
                "its result depends on the order in which blocks and threads happen to run"
            )
    if selection.current().kind == "gpu" and not isinstance(answer, CppSource):
        on_gpu = Outcome(launches.on_gpu(answer, case), outcomes[0].report, case)
        if fault := difference(on_gpu, outcomes[0].results):
            raise Violation(f"on the GPU its result is another than on the SIMT machine: {fault}")
    return outcomes[0]


def simulate(answer: Answer, launch: Launch) -> Outcome:
    """One launch on the SIMT machine, with everything on."""
    arguments = launch.arguments()
    on_device = [api.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with contextlib.redirect_stdout(io.StringIO()):  # thousands of threads may print
        report = xray(answer)[launch.grid, launch.block](*on_device)
    for finding in report.findings:
        if finding.kind == "machine-fault":
            raise MachineFault(str(finding))
    names = launch.names(report)
    for position, (before, after) in enumerate(zip(arguments, on_device, strict=True)):
        if position in launch.results or not isinstance(before, np.ndarray):
            continue
        counts = report.arrays.get(names.get(position, ""))
        stored = counts is not None and counts.global_store_requests  # even what was there before
        same = np.array_equal(before, after.copy_to_host(), equal_nan=before.dtype.kind == "f")
        if stored or not same:
            raise Violation(f"it writes to {names[position]}, which is an input")
    return Outcome(tuple(on_device[p].copy_to_host() for p in launch.results), report, launch)


def difference(got: Any, expected: tuple[Array, ...]) -> str | None:
    """What is wrong with an outcome: its finding, or how its first wrong result differs."""
    assert isinstance(got, Outcome)
    if got.finding:
        return got.evidence
    for position, array, want in zip(got.launch.results, got.results, expected, strict=True):
        if not compare.arrays(array, want):
            continue
        empty = poison(array.dtype) if position in got.launch.outputs else None
        names = got.launch.names(got.report)
        name = names.get(position, f"argument number {position + 1}")
        stored, counts = stores(got, name), got.report.arrays.get(name)
        reads = counts and counts.global_load_requests + counts.atomics
        unset = np.isnan(array) if array.dtype.kind == "f" else array == empty
        if empty is not None and stored and reads and unset.any():
            return (
                f"{name} is read, or added to, before anything is written to it: what it "
                f"holds at the start means nothing"
            )
        parts = [patterns.describe(array, want, got.launch, position, empty, name, stored, names)]
        # a negative index is allowed, and explains wrong results
        negative = next((f for f in got.report.findings if f.kind == "negative-index"), None)
        suspicion = got.sentence(negative).rstrip(".")
        parts += [suspicion[:1].upper() + suspicion[1:]]
        parts += [patterns.fixed_size(got.report.source, got.launch)]
        return ". ".join(filter(None, parts))
    return None


def stores(outcome: Outcome, name: str) -> bool:
    """Whether a kernel writes to an array, even if that leaves it as it was."""
    counts = outcome.report.arrays.get(name)
    return bool(counts and counts.global_store_requests + counts.atomics)


def same_results(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes have the same finding, if any, and the same results."""
    if (one.finding or other.finding) and not same_finding(one, other):
        return False
    pairs = zip(one.results, other.results, strict=True)
    return one.touched == other.touched and all(compare.arrays(a, b) is None for a, b in pairs)


def same_finding(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes went wrong in the same way, if not to the same effect."""
    if one.finding is None or other.finding is None:
        return one.finding is other.finding and same_results(one, other)
    return _trait(one, one.finding) == _trait(other, other.finding)


def _trait(outcome: Outcome, finding: Finding) -> tuple[Any, ...]:
    """What of a finding does not depend on names and lines."""
    names = outcome.launch.names(outcome.report)
    argument = next((p for p, name in names.items() if name == finding.array), None)
    match finding.kind:
        case "out-of-bounds":
            return finding.kind, argument, finding.index, finding.count
        case "race":  # the same two threads do the same to the same element
            threads = tuple(tuple(sorted(t.items())) for t in finding.threads)
            same_line = finding.line == finding.other_line
            return finding.kind, argument, finding.index, threads, finding.detail, same_line
        case "barrier-divergence" | "left-before-barrier":
            # of a block, wherever its other threads are, or of a warp, whose mask is at fault
            return "barrier", finding.detail
        case "uninitialized-read":
            return finding.kind, "local" in finding.detail
    return (finding.kind,)


def over_budget(budgets: Sequence[Budget], outcomes: Sequence[Outcome]) -> str | None:
    """The first budget that the outcomes exceed, in one or two sentences."""
    chosen = [o for o in outcomes if o.launch.measured] or outcomes
    for budget, outcome in itertools.product(budgets, chosen):
        if excess := budget.excess(outcome.report, outcome.launch):
            label = outcome.launch.label
            return f"the results are right, but for {label}, {excess}. {budget.advice}"
    return None

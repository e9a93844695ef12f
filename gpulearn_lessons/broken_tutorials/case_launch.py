"""A whole CUDA program to be mended: its launch, its kernel's indices, what it asks and frees."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.errors import KernelError
from gpulearn.judge.answers import where_it_runs
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.broken_tutorials.product_program import (
    CASE_LAUNCH,
    ProductProgram,
    ProductRun,
    product_program,
)
from simt.cpp.compiler import compiler_fault
from simt.cpp.source import CppSource
from simt.programs.cuda.nvcc import host_fault

BUDGET = 4.0  # sectors for each request, on each line
SLACK = 1e-6
MIN_LANES = 8.0
ALIGNED = 64, 32, 64  # every row begins where a sector begins: the budget is held here
TALL = 1_100_000, 1, 1  # more blocks along y than a grid has, if a block is 16 rows high


@dataclass(frozen=True)
class ProductOutcome:
    """What one call of `multiply` did."""

    right: float  # share of the result
    says: bool  # whether it returned cudaSuccess
    findings: tuple[str, ...]  # each kind of thing the machine found, without numbers and lines
    over: float  # sectors for each request of the worst line, where they are over the budget
    lanes: float  # active ones of a warp's 32, where they are fewer than a block of 8 has
    run: ProductRun = field(compare=False)  # all of it


def cases() -> list[Case]:
    """Results that tiles fill and that they do not, long and flat ones, one too tall for a grid."""
    sizes = ((64, 32, 48), ALIGNED, (50, 20, 30), (1, 3, 17_000), TALL)
    return [Case(f"{m:,} × {k} times {k} × {n:,}", (m, k, n)) for m, k, n in sizes] + [
        Case("16 × 8 times 8 × 16 and a copy of the result that fails", (16, 8, 16, "c"))
    ]


def run(program: Any, case: Case) -> ProductOutcome:
    assert isinstance(program, ProductProgram)
    ran = program.run(*case.args)
    over = lanes = 0.0
    if len(case.args) > 3:
        return ProductOutcome(0.0, ran.status == "cudaSuccess", (), over, lanes, ran)
    if case.args == ALIGNED and ran.report is not None:
        totals = ran.report.totals
        mean = totals.active_lanes / max(1, totals.instructions)
        lanes = mean if mean < MIN_LANES else 0.0
        lines = ran.report.lines.values()
        worst = max((max(c.sectors_per_load, c.sectors_per_store) for c in lines), default=0.0)
        over = worst if worst > BUDGET + SLACK else 0.0
    findings = tuple(sorted({re.sub(r"[\d,]+|'[^']*'", "", finding) for finding in ran.findings}))
    return ProductOutcome(
        float(ran.right.mean()), ran.status == "cudaSuccess", findings, over, lanes, ran
    )


def expected(case: Case) -> ProductOutcome:
    """All right; where the grid would be too tall, or a call fails, an error that is told."""
    ran = ProductRun("cudaSuccess", np.zeros(0), np.ones(1, bool))
    return ProductOutcome(1.0, len(case.args) == 3, (), 0.0, 0.0, ran)


def difference(got: ProductOutcome, want: ProductOutcome) -> str | None:
    product = got.run
    if not want.says:
        return "multiply returns cudaSuccess" if got.says else None
    findings = [f for f in product.findings if "the launch of" not in f or got.says]
    leaks = [finding for finding in findings if "never freed" in finding]
    if not got.says and product.right.size == TALL[0]:  # it says that it could not
        return f"{product.status} is right, but line {leaks[0]}" if leaks else None
    if got.right < 1:
        sentence = f"multiply returns {product.status}, and {int(product.right.sum()):,} of "
        sentence += f"{product.right.size:,} elements are right"
        empty = int(np.isnan(product.product).sum())
        sentence += f"; {empty:,} are memory that nobody has filled" if empty else ""
        others = [finding for finding in findings if finding not in leaks]
        return sentence + (f" (line {others[0]})" if others else "")
    if not got.says:
        return f"the result is right, and multiply returns {product.status}"
    if leaks or findings:
        return f"the result is right, but line {(leaks or findings)[0]}"
    if got.lanes:
        return f"the result is right, but {got.lanes:.2g} lanes of each warp's 32 work"
    if got.over:
        return (
            f"the result is right, but a line of the kernel moves {got.over:.3g} sectors for each "
            f"request, and {BUDGET:g} are enough"
        )
    return None


@where_it_runs
def fault(answer: Any) -> str | None:
    """Why a text is no such program, whatever it computes."""
    assert isinstance(answer, CppSource)
    for word in ("multiply", "__global__", "<<<"):
        if word not in "".join(answer.tokens):
            return f"there is no {word} in it: mend the program, kernel and host part."
    try:
        product_program(answer.text)
    except KernelError as error:
        return str(error)
    return None


def missing() -> str | None:
    return compiler_fault() or host_fault()


def as_program(answer: Any) -> Any:
    return product_program(answer.text)


EXERCISE = Exercise(
    task="Mend the program: each of its lines may be at fault, in the kernel and on the host.",
    reference=CASE_LAUNCH,
    cases=cases,
    run=run,
    expect=expected,
    difference=difference,
    fault=fault,
    ready=as_program,
    kinships=(operator.eq,),
    missing=missing,
    kernel=CASE_LAUNCH.kernel,
    by_hand=False,
)

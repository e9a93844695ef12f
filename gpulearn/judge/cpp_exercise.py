"""Exercises whose answer is a kernel in CUDA C++, judged as its twin in Numba is.

The specification, the launches and the budgets are the twin's. An array of C++ does not know its
sizes, so they follow the twin's arguments.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from gpulearn.judge.answers import Answer
from gpulearn.judge.budgets import ALONE, Budget
from gpulearn.judge.exercise import Exercise
from gpulearn.judge.kernel_exercise import Launch, kernel_exercise
from gpulearn.judge.stubs import unwrapped
from gpulearn.kernels.specification import Specification
from simt.cpp.compiler import compiler_fault
from simt.cpp.signature import Parameter
from simt.cpp.source import CppSource


def cpp_exercise(
    solution: CppSource,
    twin: Specification,
    sizes: Callable[..., tuple[int, ...]],
    *,
    task: str,
    cases: Callable[[], Sequence[Launch]],
    budgets: Sequence[Budget] = (),
    alone: str = ALONE,
) -> Exercise:
    """An exercise whose answer is CUDA C++, as `kernel_exercise` makes those in Numba.

    `twin` specifies the same kernel in Numba, whose launches `cases` makes; `sizes` gives from the
    twin's arguments the sizes that follow them in C++.
    """
    count = len(inspect.signature(unwrapped(twin.kernel)).parameters)
    exercise = kernel_exercise(
        replace(twin, kernel=solution, reference=lambda *args: twin.reference(*args[:count])),
        task=task,
        cases=lambda: [replace(c, args=(*c.args, *sizes(*c.args))) for c in cases()],
        budgets=budgets,
        alone=alone,
    )
    return replace(
        exercise, fault=partial(fault, solution), missing=compiler_fault, kernel=solution.kernel
    )


def fault(solution: CppSource, answer: Answer) -> str | None:
    """Why an answer cannot be launched, whatever its lines say; None if it can be tried."""
    assert isinstance(answer, CppSource)
    same = len(answer.parameters) == len(solution.parameters)
    reordered = sorted(map(str, answer.parameters)) == sorted(map(str, solution.parameters))
    for mine, given in zip(answer.parameters, solution.parameters, strict=False):
        if same and not takes(mine, given):
            if reordered:
                order = ", ".join(f"{p} {p.name}" for p in solution.parameters)
                return f"its parameters are handed over in another order: write ({order})."
            return (
                f"{mine.name} is declared as {mine}, and what is handed over is {given}: write "
                f"{given} {mine.name}."
            )
    return answer.fault


def takes(mine: Parameter, given: Parameter) -> bool:
    """Whether a parameter can take what another one is given; a type that is not known may."""
    one, other = mine.element, given.element
    if one is None or other is None:
        return mine.pointer == given.pointer
    if not mine.pointer or not given.pointer:
        return mine.pointer == given.pointer and (one.kind == "f") == (other.kind == "f")
    return one == other

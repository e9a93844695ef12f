"""What an exercise is, with its solution, its cases and its known answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers

FREE_BLOCKS = 8  # of one size, or more than NumPy keeps


class Violation(Exception):  # noqa: N818 - it is the answer that is at fault
    """What a trial raises when an answer breaks its rules; the message says which."""


class TooLong(TimeoutError):  # noqa: N818 - it is the answer that is at fault
    """What a trial raises when an answer does not end; the message says how that was seen."""


@dataclass(frozen=True)
class Case:
    """One adversarial input: positional arguments, and how to speak of them in a diagnosis."""

    label: str
    args: tuple[Any, ...]


def call(answer: Answer, case: Case) -> Any:
    """Call an answer on a case; how most exercises are run.

    What `np.empty` hands out next is filled with ones before: a NaN as a float, -1 as an integer.
    NumPy keeps the last few freed blocks of each small size; zeros there would make an answer
    right by luck that adds to an array which nobody has filled.
    """
    ones = np.full(1024, 0xFF, np.uint8)
    for size in range(4, 1024, 4):
        part = ones[:size]
        blocks = [part.copy() for _ in range(FREE_BLOCKS)]
        del blocks
    return answer(*case.args)


@dataclass(frozen=True)
class Exercise:
    """One exercise: its tested solution, how an answer is tried, and what goes wrong with it.

    Attributes:
        task: one sentence.
        reference: the tested library function that is its solution, and gives it its name.
        cases: makes the adversarial inputs anew for each check.
        run: tries an answer on a case and returns what came out.
        expect: what should come out; the reference's result unless said otherwise.
        difference: one sentence on how a result differs from the expected one, or None; unless
            said otherwise it compares numbers, or NumPy arrays, but no lists.
        fault: what is wrong with an answer before it is tried, in one sentence, or None.
        ready: makes of an answer what `run` and `demand` take, once for all cases of a check.
        demand: what else is asked of an answer with right results, from the answer and what
            came out of each case: one sentence, or None.
        kinships: when two results are the same behavior, from the strictest view to the
            loosest; if empty, when there is no difference between them.
        missing: what this computer lacks to judge an answer, in one sentence, or None.
        kernel: in an exercise of CUDA C++, the `__global__` function that the text has to hold.
        by_hand: whether a case can be handed to a learner; not where answers run on ranks.
        notebook: the notebook that sets it, such as "01_cpu_vs_gpu_matmul"; its topic says which.
        file: where it stands if it is no exercise of this package, such as "my_exercises.py".
        known: reads the known answers, of which `NAME.hints` beside its module has the wrong ones.
    """

    task: str
    reference: Answer
    cases: Callable[[], Sequence[Case]]
    run: Callable[[Answer, Case], Any] = call
    expect: Callable[[Case], Any] | None = None
    difference: Callable[[Any, Any], str | None] = compare.results
    fault: Callable[[Answer], str | None] = lambda answer: None
    ready: Callable[[Answer], Answer] = lambda answer: answer
    demand: Callable[[Answer, Sequence[Any]], str | None] = lambda answer, outcomes: None
    kinships: Sequence[Callable[[Any, Any], bool]] = ()
    missing: Callable[[], str | None] = lambda: None
    kernel: str = ""
    by_hand: bool = True
    notebook: str = ""
    file: str = ""
    known: Callable[[], Answers] = Answers

    @property
    def answers(self) -> Answers:
        """Known answers: what behaves on every case like a wrong one among them gets its hint."""
        return self.known()

    @property
    def place(self) -> str:
        """What `gl.check` is given to find it: its name, after its file if it has one."""
        return f"{self.file}:{self.name}" if self.file else self.name

    @property
    def name(self) -> str:
        """The name of the function to write, and of the exercise."""
        return str(self.reference.__name__)

    def expected(self, case: Case) -> Any:
        """What should come out of a case."""
        return self.expect(case) if self.expect else self.run(self.reference, case)

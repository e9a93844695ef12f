"""Exercises whose answer is a Triton kernel: launched by the interpreter, held against torch."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answer
from gpulearn.judge.exercise import Case, Exercise, Violation
from gpulearn_lessons.frameworks import availability
from gpulearn_lessons.tiles.launches import launch


def tile_exercise(
    reference: Answer,
    *,
    task: str,
    cases: Callable[[], list[Case]],
    inputs: int,
    grid: Callable[..., tuple[int, ...]],
    expected: Callable[..., Any],
) -> Exercise:
    """A case has the kernel's arguments: input arrays, then the array to fill, then numbers.

    `grid` gets all of them, `expected` the inputs, as float64 tensors.
    """

    def run(answer: Answer, case: Case) -> Any:
        import torch

        arrays = [torch.from_numpy(array) for array in case.args[:inputs]]
        out = torch.from_numpy(case.args[inputs].copy())
        watch = launch(answer, grid(*case.args), *arrays, out, *case.args[inputs + 1 :])
        for finding in [*watch.outside.values(), *watch.races()]:
            raise Violation(finding)
        return out.numpy()

    def expect(case: Case) -> Any:
        import torch

        exact = expected(*(torch.from_numpy(array).double() for array in case.args[:inputs]))
        return exact.numpy().astype(np.float32)

    return Exercise(
        task=task,
        reference=reference,
        cases=cases,
        run=run,
        expect=expect,
        missing=lambda: availability.missing(["triton"]).rstrip(".") or None,
        by_hand=False,  # the answer is launched, not called
    )

"""The inputs of one case of a check, to try an answer on by hand: `gl.case("name", 3)`."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.judge.catalogue import find
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.isolation import undisturbed
from gpulearn.judge.launches import Launch
from gpulearn.judge.stubs import unwrapped
from gpulearn.kernels.specification import Shape

SHOWN = 3  # calls in a printout
WIDTH = 40  # of an argument that stands within its call


class ExerciseCall(NamedTuple):
    """One call of an exercise's function, as the check makes it, with its own copies."""

    args: tuple[Any, ...]  # by position
    options: Mapping[str, Any]  # by name
    expected: Any  # what the solution returns; of a kernel what it leaves in its outputs, a tuple


@dataclass(frozen=True)
class Inputs:
    """A case of a check: how it is spoken of, and the calls that it makes.

    Attributes:
        name: of the function.
        label: as a diagnosis says it after "for".
        parameters: what the solution calls the arguments by position.
        calls: one, or several where the check calls a function again, such as for each step.
        grid: blocks of a kernel's launch; None for an ordinary function.
        block: threads per block of a kernel's launch; None for an ordinary function.
    """

    name: str
    label: str
    parameters: tuple[str, ...]
    calls: tuple[ExerciseCall, ...]
    grid: Shape | None = None
    block: Shape | None = None

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments of the first call by position."""
        return self.calls[0].args

    @property
    def options(self) -> Mapping[str, Any]:
        """The arguments of the first call by name."""
        return self.calls[0].options

    @property
    def expected(self) -> Any:
        """What should come out of the first call."""
        return self.calls[0].expected

    def __repr__(self) -> str:
        more = len(self.calls) - SHOWN
        parts = [f"For {self.label}:", *map(self._text, self.calls[:SHOWN])]
        return "\n".join(parts + [f"… and {more} more calls"] * (more > 0))

    def _text(self, call: ExerciseCall) -> str:
        """A call and what it should give; what takes several lines stands by itself."""
        arguments = [*zip(self.parameters, call.args, strict=False), *call.options.items()]
        texts = {key: _plain(value) for key, value in arguments}
        apart = [key for key, text in texts.items() if "\n" in text or len(text) > WIDTH]
        named = [key if key in apart else f"{key}={text}" for key, text in texts.items()]
        launched = self.name if self.grid is None else f"{self.name}[{self.grid}, {self.block}]"
        lines = [f"{launched}({', '.join(named)})", *(f"{key} =\n{texts[key]}" for key in apart)]
        result = _plain(call.expected)
        return "\n".join([*lines, ("→\n" if "\n" in result else "→ ") + result])


def case(name: str, number: int) -> Inputs:
    """Hand over the inputs of one case that `gl.check` tries, and what should come out.

    Args:
        name: the exercise's name.
        number: of the case, from 1, as a diagnosis quotes it.

    Returns:
        The calls that the check makes, with `args`, `options` and `expected`; of a kernel also
        `grid` and `block`. Each time they are made anew.

    >>> case("matmul_flops", 2)
    For m, n, p = 2, 3, 5:
    matmul_flops(m=2, n=3, p=5)
    → 60
    >>> case("matmul_flops", 2).args
    (2, 3, 5)
    """
    exercise = find(name)
    if not exercise.by_hand:
        raise BadInput(
            f"{exercise.name} is tried on several ranks at once: call it in a function of your own "
            f"and launch that, with gl.launch."
        )
    cases = exercise.cases()
    if require.whole("number", number) > len(cases):
        raise BadInput(
            f"The check of {exercise.name} has {len(cases)} cases: give a number from 1 to "
            f"{len(cases)}, not {number}."
        )
    chosen = cases[number - 1]
    parameters = tuple(inspect.signature(unwrapped(exercise.reference)).parameters)
    if isinstance(chosen, Launch):
        launched = ExerciseCall(tuple(chosen.arguments()), {}, exercise.expected(chosen))
        shape = chosen.grid, chosen.block
        return Inputs(exercise.name, chosen.label, parameters, (launched,), *shape)
    return Inputs(exercise.name, chosen.label, parameters, _calls(exercise, chosen))


def _calls(exercise: Exercise, case: Case) -> tuple[ExerciseCall, ...]:
    """What the solution is called with in a case, and what it returns."""
    calls: list[ExerciseCall] = []

    @functools.wraps(exercise.reference)
    def watched(*args: Any, **options: Any) -> Any:
        args = tuple(list(a) if inspect.isgenerator(a) else a for a in args)
        inputs = copy.deepcopy((args, options))
        result = exercise.reference(*args, **options)
        calls.append(ExerciseCall(*inputs, copy.deepcopy(result)))
        return result

    with undisturbed():
        exercise.run(watched, case)
    return tuple(calls)


def _plain(value: Any) -> str:
    """A value in full where it is small."""
    if isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
        return ",\n".join(map(_plain, value))
    if getattr(value, "ndim", 0) and hasattr(value, "__array__"):
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)
        return np.array2string(array, separator=", ", precision=6, threshold=48)
    return require.shown(value)

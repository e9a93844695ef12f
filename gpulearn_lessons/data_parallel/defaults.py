"""Default arguments of an answer: those of the stub."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gpulearn.judge.answers import Answer
from gpulearn.judge.stubs import unwrapped

Demand = Callable[[Answer, Sequence[Any]], str | None]


def demand_defaults(reference: Answer) -> Demand:
    """A demand on an answer with right results: no default is another than the solution's.

    Cases name all arguments, so a right answer may have no defaults.
    """
    parameters = inspect.signature(unwrapped(reference)).parameters

    def demand(answer: Answer, outcomes: Sequence[Any]) -> str | None:
        try:
            given = inspect.signature(answer).parameters
        except (TypeError, ValueError):
            return None
        for name, parameter in given.items():
            if name not in parameters or parameter.default is parameter.empty:
                continue
            if repr(parameter.default) != repr(parameters[name].default):
                return (
                    f"{name} is {parameter.default!r} where it is left out: keep "
                    f"{name}={parameters[name].default!r}, as it stood there."
                )
        return None

    return demand

"""What all step functions have in common: their signature, their checks, coupled weight decay."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.require import shown

Array = np.ndarray[Any, Any]

FRACTIONS = ("momentum", "alpha", "beta1", "beta2")  # what is kept of the past: 0 <= x < 1


# parameters, gradient and state in, and options by name; the new parameters and state out
StepRule = Callable[..., tuple[Any, Any]]


def step_rule(function: StepRule) -> StepRule:
    """Check the arguments of a step function, and give it `weight_decay` if it has none.

    Weight decay is then coupled, as in torch's classes: the gradient of ½·weight_decay·|θ|²,
    which is weight_decay·θ, is added to the gradient before the function sees it.

    Parameters that are Python numbers stay numbers, and a gradient takes the parameters' dtype.
    """
    signature = inspect.signature(function)
    coupled = "weight_decay" not in signature.parameters
    if coupled:
        kind = inspect.Parameter.KEYWORD_ONLY
        decay = inspect.Parameter("weight_decay", kind, default=0.0, annotation="float")
        signature = signature.replace(parameters=[*signature.parameters.values(), decay])

    @functools.wraps(function)
    def checked(theta: Any, gradient: Any, state: Any = None, **options: float) -> tuple[Any, Any]:
        theta, gradient = _same_shape(theta, gradient)
        _check_state(theta, state, function.__name__)
        for name in options:
            require.choice("option", name, list(signature.parameters)[3:])
        if "lr" not in options:
            raise BadInput(f"{function.__name__} needs a rate: add lr=0.1, say.")
        options = {name: _option(name, value) for name, value in options.items()}
        if coupled and (weight_decay := options.pop("weight_decay", 0.0)):
            gradient = gradient + weight_decay * theta
        try:
            return function(theta, gradient, state, **options)
        except (TypeError, ValueError):
            if state is None:
                raise
            raise BadInput(
                f"state is {shown(state)}, which is not what {function.__name__} returns: give "
                "the state of its last step, or None to begin a new descent."
            ) from None

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def _same_shape(theta: Any, gradient: Any) -> tuple[Any, Any]:
    """Parameters and gradient, alike in shape and dtype."""
    parameters = require.real_array("theta", theta)
    slopes = require.real_array("gradient", gradient)
    if parameters.shape != slopes.shape:
        raise BadInput(
            f"theta has shape {parameters.shape}, and gradient {slopes.shape}: there must be one "
            f"slope for each parameter."
        )
    if isinstance(theta, int | float):  # np.float64 is a float too, and stays what it is
        return theta, slopes.item()
    return parameters, slopes.astype(parameters.dtype, copy=False)


def _check_state(theta: Any, state: Any, name: str) -> None:
    """A state belongs to the parameters that it was made for."""
    for part in state if isinstance(state, tuple) else (state,):
        if np.ndim(part) and np.shape(part) != np.shape(theta):
            raise BadInput(
                f"state holds an array of shape {np.shape(part)}, and theta has shape "
                f"{np.shape(theta)}: give the state that {name} returned for these parameters, or "
                "None to begin a new descent."
            )


def _option(name: str, value: Any) -> float:
    """A number within its bounds, as Python's own, which leaves float32 arrays float32."""
    if value is True or not isinstance(value, int | float | np.number) or not 0 <= value < math.inf:
        raise BadInput(f"{name} is {shown(value)}: give a number that is not below zero.")
    if name in FRACTIONS and value >= 1:
        raise BadInput(f"{name} is {shown(value)}: give a number from 0 to below 1.")
    return float(value)

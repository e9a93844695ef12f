"""A race of all methods: each tries several rates, and the table says how many of them do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from gpulearn.optim.landscapes import Landscape
from gpulearn.optim.step_rules import StepRule
from gpulearn.optim.trajectories import descend
from gpulearn.plot.descent_controls import METHODS
from gpulearn.plot.descents import settled
from gpulearn.require import shown
from gpulearn.tables import Table, table

__all__ = ["RATES", "race_methods", "settling_rates"]

# three to a factor of ten, from 0.001 to 1
RATES = tuple(float(rate) for rate in np.geomspace(0.001, 1, 10))
STEPS = 1000


def settling_rates(
    landscape: Landscape,
    start: Any,
    goal: float,
    step: StepRule,
    rates: Sequence[float] = RATES,
    steps: int = STEPS,
) -> list[tuple[int, float]]:
    """For each rate with which a method gets to a goal and stays: (from which step, the rate).

    Args:
        landscape: has a value and a gradient.
        start: the first point.
        goal: a loss; from the step that is returned the loss stays at it or below.
        step: the method's step function.
        rates: the rates to try.
        steps: how many steps each gets.

    >>> from gpulearn.optim.optimizers import gradient_step
    >>> from gpulearn.optim.landscapes import surface
    >>> settling_rates(surface("bowl"), [1.0, 0.0], 1e-3, gradient_step, [0.5, 3.0])
    [(5, 0.5)]
    """
    found = []
    for rate in rates:
        since = settled(descend(landscape, start, step, rate=rate, steps=steps), goal)
        if since is not None:
            found.append((since, rate))
    return found


def race_methods(grounds: Mapping[str, tuple[Landscape, Any, float]]) -> Table:
    """A table of six methods: each one's fewest steps to a goal over ten rates, on each ground.

    A cell holds the step from which the loss stays at the goal or below, the rate with which
    that was so, and with how many of the ten rates, from 0.001 to 1, it was reached within 1000
    steps. Momentum is 0.9, and so is Adam's β₁.

    Args:
        grounds: name → (landscape, start, goal).

    Raises:
        BadInput: there is no ground, or one is no triple.
    """
    if not isinstance(grounds, Mapping) or not grounds:
        raise BadInput(f'grounds is {shown(grounds)}: give {{"name": (loss, start, goal), …}}.')
    for name, ground in grounds.items():
        if not isinstance(ground, tuple) or len(ground) != 3:
            raise BadInput(f"{name} is {shown(ground)}: give (loss, start, goal).")
        if not isinstance(ground[2], int | float):  # np.float64 is a float too
            raise BadInput(f"the goal of {name} is {shown(ground[2])}: give a loss.")
    rows = []
    for method, (step, _) in METHODS.items():
        row = {"method": method}
        for name, ground in grounds.items():
            row[name] = _cell(settling_rates(*ground, step))
        rows.append(row)
    return table(rows, caption=f"Fewest steps over {len(RATES)} rates from 0.001 to 1.")


def _cell(found: Sequence[tuple[int, float]]) -> str:
    if not found:
        return f"over {STEPS}"
    since, rate = min(found)
    return f"{since} at rate {rate:.2g}; {len(found)} of {len(RATES)} rates"

"""The interactive figure of notebook 10: a surface, a method, a rate, a momentum, and a walk."""

from __future__ import annotations

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.optim.landscapes import SURFACES, Surface, surface
from gpulearn.optim.optimizers import (
    adagrad_step,
    adam_step,
    gradient_step,
    momentum_step,
    nesterov_step,
    rmsprop_step,
)
from gpulearn.optim.trajectories import Trajectory, descend
from gpulearn.plot.descents import draw_paths
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.style import figure

__all__ = ["METHODS", "descent_explorer", "draw_descent", "stable_limit"]

STEPS = 200
# method -> its step function, and what it calls the share of the past that the slider sets
METHODS = {
    "gradient descent": (gradient_step, None),
    "momentum": (momentum_step, "momentum"),
    "Nesterov": (nesterov_step, "momentum"),
    "Adagrad": (adagrad_step, None),
    "RMSProp": (rmsprop_step, None),
    "Adam": (adam_step, "beta1"),
}
# ten rates to a factor of ten, from 0.0001 to 1
RATES = tuple(10 ** (tenth / 10) for tenth in range(-40, 1))
MOMENTA = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98)


def stable_limit(method: str, momentum: float, steepest: float) -> float | None:
    """The rate above which a method leaves the minimum of a quadratic, where there is a formula.

    With λ the largest curvature and μ the momentum: 2/λ for plain descent, 2(1 + μ)/λ with
    momentum, 2(1 + μ)/((1 + 2μ)λ) for Nesterov's. Each is where −1 becomes a root of the
    recurrence that the distances from the minimum obey (Polyak, "Introduction to optimization",
    1987, section 3.2, for the second). The adaptive methods have no such limit: None.

    Args:
        method: a key of `METHODS`.
        momentum: μ, 0 ≤ μ < 1.
        steepest: λ, above zero.

    >>> stable_limit("momentum", 0.5, 25.0)
    0.12
    """
    if method == "gradient descent":
        return 2 / steepest
    if method == "momentum":
        return 2 * (1 + momentum) / steepest
    if method == "Nesterov":
        return 2 * (1 + momentum) / ((1 + 2 * momentum) * steepest)
    return None


def walk(ground: Surface, method: str, rate: float, momentum: float) -> Trajectory:
    """One descent of 200 steps from the surface's start."""
    step, share = METHODS[method]
    options = {share: momentum} if share else {}
    return descend(ground, ground.start, step, rate=rate, steps=STEPS, **options)


def lowest(ground: Surface) -> float:
    """The loss at the minimum."""
    return float(ground.value(ground.minimum))


def said(ground: Surface, method: str, rate: float, momentum: float, path: Trajectory) -> str:
    """What was chosen, how the descent ended, and the rate against the limit."""
    share = METHODS[method][1]
    with_what = f", {share} {momentum:g}" if share else ""
    steepest = 2 / ground.largest_stable_step
    limit = stable_limit(method, momentum, steepest)
    if limit is None:
        clause = "Its steps are scaled, so that 2/λmax is no limit for them."
    else:
        side = "below" if rate < limit else "above"
        clause = (
            f"At the minimum λmax is {steepest:.3g}; the rate is {rate / limit:.2f} times the "
            f"limit {limit:.3g}, {side} it."
        )
    # a path that rests on a saddle has lost all its slope, and is not down
    high = "" if lowest(ground) == 0 else f" The lowest loss is {lowest(ground):.3g}."
    return f"{ground.name}, {method}, rate {rate:.3g}{with_what}: {path.outcome}{high} {clause}"


def draw_descent(name: str, method: str, rate: float, momentum: float) -> tuple[Picture, str]:
    """The path and the losses of one descent, and their sentence; the explorer's whole logic."""
    ground = surface(name)
    path = walk(ground, method, rate, momentum)
    sentence = said(ground, method, rate, momentum, path)
    with figure(10.0, 4.2) as (made, axes):
        axes.remove()
        left, right = made.subplots(1, 2)
        draw_paths(left, ground, {method: path}, ground.window)
        left.set_title(f"{ground.name}: J = {ground.formula}", fontsize=9)
        left.set_xlabel("x")
        left.set_ylabel("y")
        above = path.values - lowest(ground)
        right.plot(np.where(above > 0, above, np.nan))
        right.set_yscale("log")
        right.set_xlim(0, STEPS)
        right.set_xlabel("step")
        right.set_ylabel("loss above the lowest, J − J*")
    x, y = path.points[-1]
    alt = f"The path over the contours ends at ({x:.3g}, {y:.3g}). {sentence}"
    return show(made, alt), sentence


def descent_explorer() -> Explorer:
    """Choose a surface, a method, its rate and its momentum; see the path and the losses.

    The lists open with Space, the sliders move with the arrow keys.
    """
    widgets = require.package("ipywidgets", "gl.plot.descent_explorer")

    def sliding(name: str, values: tuple[float, ...], value: float) -> object:
        return widgets.SelectionSlider(
            options=[(f"{one:.3g}", one) for one in values],
            value=value,
            description=name,
            continuous_update=False,
            readout=False,  # could be typed into; the sentence says it
        )

    controls = {
        "name": widgets.Dropdown(options=list(SURFACES), value="ravine", description="surface"),
        "method": widgets.Dropdown(
            options=list(METHODS), value="gradient descent", description="method"
        ),
        "rate": sliding("rate", RATES, RATES[28]),
        "momentum": sliding("momentum", MOMENTA, 0.9),
    }
    return Explorer(draw_descent, controls)

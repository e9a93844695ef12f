"""How often to save: the interval between checkpoints that loses the least time to failures.

The model is Daly's. Failures come at random, at the same rate at all times, so that the time
between two is exponentially distributed with mean M, the MTBF of the whole system. A failure
destroys the work since the last complete checkpoint, and a restart may fail as well. Training
stops for a time `cost` during each checkpoint. All times are in one unit.
"""

import math
from typing import Any

import numpy as np

from gpulearn import require


@require.positive("cost", "mtbf")
def young_interval(cost: float, mtbf: float) -> float:
    """Time between two checkpoints by Young's approximation, √(2·cost·MTBF).

    J. W. Young, "A first order approximation to the optimum checkpoint interval", Communications
    of the ACM 17(9), 1974. It is good if a checkpoint takes much less than the MTBF.

    >>> young_interval(cost=5, mtbf=24 * 60)  # minutes
    120.0
    """
    return math.sqrt(2 * cost * mtbf)


@require.positive("cost", "mtbf")
def daly_interval(cost: float, mtbf: float) -> float:
    """Training time between two checkpoints by Daly's higher-order estimate.

    τ = √(2δM) · (1 + ⅓·√(δ/2M) + ⅑·δ/2M) − δ for a cost δ below 2M, and M for a higher one. J. T.
    Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
    Generation Computer Systems 22, 2006. In minutes, for a cost of 5 and failures every day, every
    6 hours and every 15 minutes:

    >>> [round(daly_interval(5, mtbf), 1) for mtbf in (24 * 60, 6 * 60, 15)]
    [116.7, 56.7, 9.1]
    """
    if cost >= 2 * mtbf:
        return mtbf
    part = cost / (2 * mtbf)
    return math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - cost


@require.positive("cost", "mtbf")
def best_interval(cost: float, mtbf: float) -> float:
    """Training time between two checkpoints at which `lost_share` is least.

    There the derivative is 0: e^(−(τ + δ)/M) = 1 − τ/M. Newton's method from the right, where the
    function is convex. The restart time does not matter.

    >>> f"{best_interval(5, 24 * 60):.1f} of {24 * 60}, {best_interval(5, 15):.1f} of 15"
    '116.7 of 1440, 9.2 of 15'
    """
    x, before = 1.0, 2.0  # τ/M; the steps go down to it
    while x < before:
        before = x
        rest = -math.expm1(-(x + cost / mtbf))
        x -= (x - rest) / rest
    return before * mtbf


@require.positive("cost", "mtbf", or_zero=("restart",))
def lost_share(interval: Any, cost: float, restart: float, mtbf: float) -> Any:
    """Fraction of all time that is lost to saves, failures and restarts, 0 to 1.

    On average e^(−R/M) / (e^((τ + δ)/M) − 1) sections of τ training and δ saving are completed
    between two failures, so 1 − τ/M · e^(−R/M) / (e^((τ + δ)/M) − 1) is lost. It follows from
    Daly's (2006) complete cost function.

    Args:
        interval: τ, training between two checkpoints; a number or an array.
        cost: δ, how long training stops for one.
        restart: R, from a failure until training resumes.
        mtbf: M, of the whole system; all four in the same unit.

    >>> f"{lost_share(120, cost=5, restart=10, mtbf=24 * 60):.1%}"
    '8.7%'
    """
    tau = np.asarray(interval, float)
    with np.errstate(over="ignore"):  # no interval this long is ever completed: the share is 1
        per_section = np.expm1((tau + cost) / mtbf)
    share: Any = 1 - tau / mtbf * np.exp(-restart / mtbf) / per_section
    return share if tau.ndim else float(share)


@require.sizes("gpus")
@require.positive("save_seconds", "gpu_mtbf_hours", or_zero=("restart_minutes",))
def checkpoint_interval(
    save_seconds: float, restart_minutes: float, gpu_mtbf_hours: float, gpus: int
) -> tuple[float, float]:
    """How long to train between two checkpoints, in seconds, and the fraction of time lost.

    Any of N GPUs stops all of them, so the MTBF of the system is that of one GPU divided by N.

    Args:
        save_seconds: how long training stops for one checkpoint.
        restart_minutes: from a failure until training resumes.
        gpu_mtbf_hours: mean time between two failures of one GPU.
        gpus: the number of GPUs.

    >>> seconds, lost = checkpoint_interval(30, 5, 50_000, 1000)
    >>> f"every {seconds / 60:.0f} minutes, {lost:.1%} lost"
    'every 54 minutes, 2.0% lost'
    """
    mtbf = gpu_mtbf_hours * 3600 / gpus
    restart = restart_minutes * 60
    interval = best_interval(save_seconds, mtbf)
    return interval, lost_share(interval, save_seconds, restart, mtbf)

"""Which processes of a replicated parameter server are to be killed, and where."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpulearn import require
from gpulearn_lessons.parameter_server.server.processes import POINTS, WORKER_POINTS

WHOM = ("primary", "backup", "worker")
ANY_MOMENT = "any moment"


class Kill(NamedTuple):
    """One process that is killed: whose, and at which point of its program.

    `whom` is "primary", "backup" or "worker"; `point` is a name of
    `gpulearn_lessons.parameter_server.server.processes` or "any moment", when the signal comes from outside.
    """

    whom: str
    point: str


def drawn(count: int, random: np.random.Generator) -> list[Kill]:
    """So many kills: whom, and where, each as likely as the others."""
    drawn = [str(random.choice(WHOM)) for _ in range(require.from_zero("kills", count))]
    return [Kill(whom, str(random.choice([*_points(whom), ANY_MOMENT]))) for whom in drawn]


def _points(whom: str) -> tuple[str, ...]:
    if whom == "backup":  # it forwards nothing
        return tuple(point for point in POINTS if "forward" not in point)
    return WORKER_POINTS if whom == "worker" else POINTS


def known(kill: Kill) -> Kill:
    """A kill as it was given."""
    whom = require.choice("process to kill", kill[0], WHOM)
    return Kill(whom, require.choice("point", kill[1], [*_points(whom), ANY_MOMENT]))

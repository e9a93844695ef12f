"""Where a rank's time goes, measured step by step."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import clock, rank
from gpulearn.require import shown

PART = re.compile(r"[^\W\d]\w*")  # what Prometheus takes as a label too


@dataclass
class StepMonitor:
    """Measures where one rank's time goes, by its own clock, real or simulated.

    `steps` has the seconds of each part, for each finished step.

    >>> import gpulearn as gl
    >>> def two_steps():
    ...     monitor = StepMonitor()
    ...     for _ in range(2):
    ...         with monitor.measure("compute"):
    ...             gl.parallel.compute(0.1 * (gl.parallel.rank() + 1))
    ...         with monitor.measure("waiting"):
    ...             gl.parallel.barrier()
    ...         monitor.end_step()
    ...     return monitor
    >>> for monitor in gl.simulate(two_steps, 2).results:
    ...     print(monitor.rank, {part: f"{share:.0%}" for part, share in monitor.shares().items()})
    0 {'compute': '50%', 'waiting': '50%'}
    1 {'compute': '100%', 'waiting': '0%'}
    """

    rank: int = field(default_factory=lambda: rank())
    steps: list[dict[str, float]] = field(default_factory=list)
    _open: dict[str, float] = field(default_factory=dict, repr=False)

    @contextlib.contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time of a `with` block to a part of this step, such as "compute"."""
        if not isinstance(part, str) or not PART.fullmatch(part):
            raise BadInput(f"part is {shown(part)}: give a word, such as 'compute'.")
        begin = clock()
        try:
            yield
        finally:
            self._open[part] = self._open.get(part, 0.0) + clock() - begin

    def end_step(self) -> None:
        """Finish this step."""
        self.steps.append(self._open)
        self._open = {}

    def seconds(self) -> dict[str, float]:
        """Seconds of each part in all finished steps."""
        parts = dict.fromkeys(part for step in self.steps for part in step)
        return {part: sum(step.get(part, 0.0) for step in self.steps) for part in parts}

    def shares(self) -> dict[str, float]:
        """Fraction of the measured time that each part took, 0 to 1."""
        seconds = self.seconds()
        total = sum(seconds.values())
        return {part: value / total if total else 0.0 for part, value in seconds.items()}

"""Where a rank's time goes, as TensorBoard reads it and as Prometheus does.

Prometheus asks each process again and again what it has counted, and expects plain text over HTTP:
https://prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.communicator import clock, rank
from gpulearn.require import shown

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PART = re.compile(r"[^\W\d]\w*")


Samples = Sequence[tuple[Mapping[str, object], float]]


@dataclass
class StepMonitor:
    """Counts where the time of one rank goes, by the rank's own clock: real or simulated.

    `steps` has, of each step that has ended, the seconds of each part.

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
        """Count the time of a `with` block as a part of this step, such as "compute"."""
        if not isinstance(part, str) or not PART.fullmatch(part):
            raise BadInput(f"part is {shown(part)}: give a word, such as 'compute'.")
        begin = clock()
        try:
            yield
        finally:
            self._open[part] = self._open.get(part, 0.0) + clock() - begin

    def end_step(self) -> None:
        """End this step; the next part belongs to the next one."""
        self.steps.append(self._open)
        self._open = {}

    def seconds(self) -> dict[str, float]:
        """Seconds of each part in all steps that have ended."""
        parts = dict.fromkeys(part for step in self.steps for part in step)
        return {part: sum(step.get(part, 0.0) for step in self.steps) for part in parts}

    def shares(self, step: int | None = None) -> dict[str, float]:
        """Share of the measured time that each part took, 0 to 1, in one step or in all."""
        seconds = self.seconds() if step is None else self.steps[step]
        total = sum(seconds.values())
        return {part: value / total if total else 0.0 for part, value in seconds.items()}


def prometheus_text(monitors: Iterable[StepMonitor]) -> str:
    """What Prometheus is answered: two counters, of seconds by rank and part, and of steps.

    Counters, since they lose nothing between two questions: a share over any time is made of
    their differences, as Prometheus' `rate` does.

    >>> print(prometheus_text([StepMonitor(3, [{"compute": 0.5}, {"compute": 0.25}])]), end="")
    # HELP gpulearn_rank_seconds_total Seconds that a rank has spent, by part of a step.
    # TYPE gpulearn_rank_seconds_total counter
    gpulearn_rank_seconds_total{rank="3",part="compute"} 0.75
    # HELP gpulearn_steps_total Steps that a rank has ended.
    # TYPE gpulearn_steps_total counter
    gpulearn_steps_total{rank="3"} 2.0
    """
    monitors = list(monitors)
    require.all_of(StepMonitor, monitors, "StepMonitor", "those of the ranks")
    by_part: Samples = [
        ({"rank": monitor.rank, "part": part}, seconds)
        for monitor in monitors
        for part, seconds in monitor.seconds().items()
    ]
    steps: Samples = [({"rank": monitor.rank}, len(monitor.steps)) for monitor in monitors]
    return counter(
        "gpulearn_rank_seconds_total", "Seconds that a rank has spent, by part of a step.", by_part
    ) + counter("gpulearn_steps_total", "Steps that a rank has ended.", steps)


def counter(name: str, description: str, samples: Samples) -> str:
    r"""One counter in the text format: its help, its type, a line for each set of labels.

    >>> print(counter("a_total", "A\nB", [({"path": 'C:\\x "y"'}, 1)]), end="")
    # HELP a_total A\nB
    # TYPE a_total counter
    a_total{path="C:\\x \"y\""} 1.0
    """
    lines = [f"# HELP {name} {_escaped(description)}", f"# TYPE {name} counter"]
    for labels, value in samples:
        escaped = {label: _escaped(str(text)).replace('"', r"\"") for label, text in labels.items()}
        pairs = ",".join(f'{label}="{text}"' for label, text in escaped.items())
        lines.append(f"{name}{{{pairs}}} {float(value)!r}")
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


@contextlib.contextmanager
def serve_metrics(text: Callable[[], str]) -> Iterator[int]:
    """Answer Prometheus on this machine alone, at /metrics, until the `with` block ends.

    `text` makes the answer anew for each question, such as of `prometheus_text`. Yields the
    port, one that was free.
    """

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.partition("?")[0] == "/metrics"
            body = (text() if known else "ask for /metrics\n").encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", CONTENT_TYPE if known else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Say nothing of each question."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def write_shares(folder: str | Path, monitors: Iterable[StepMonitor]) -> None:
    """Write for TensorBoard which share of each step each part took; a run for each rank.

    The folder is made if need be; `tensorboard --logdir folder` shows `rank_0`, `rank_1`, … in it.
    """
    require.package("tensorboard", "fault_tolerance.write_shares")
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter
    for monitor in monitors:
        with writer(str(Path(folder) / f"rank_{monitor.rank}")) as events:
            for number in range(len(monitor.steps)):
                for part, share in monitor.shares(number).items():
                    events.add_scalar(f"share/{part}", share, number + 1)

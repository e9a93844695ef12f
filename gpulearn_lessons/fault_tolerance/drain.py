"""Ending a job before its time limit: finish the step, save, and ask to be queued again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class QueuedJob(Protocol):
    """What a training program in a queue can do."""

    def on_signal(self, handler: Callable[[str], object]) -> None:
        """Have `handler` called with a signal's name, at any moment, even in the middle of a step.

        "USR1" means that the time limit is near, "TERM" that the job has been canceled.
        """

    def finished(self) -> bool:
        """Whether all steps are done."""

    def step(self) -> None:
        """Take the next step."""

    def save(self) -> None:
        """Write a checkpoint."""

    def requeue(self) -> None:
        """Ask for the job to be queued again."""


def drain_and_requeue(job: QueuedJob) -> int:
    """Train until the end or until a signal; returns the exit status of the program.

    Returns:
        0 when training is finished; 75 when the job goes back into the queue (EX_TEMPFAIL of
        sysexits.h, try again later); 143 when it has been canceled (128 + 15, what a shell
        reports for a program that SIGTERM has ended).
    """
    seen: list[str] = []
    job.on_signal(seen.append)
    while not job.finished() and not seen:
        job.step()
    job.save()
    if job.finished():
        return 0
    if "TERM" in seen:
        return 143
    job.requeue()
    return 75

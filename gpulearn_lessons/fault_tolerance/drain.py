"""Ending a job before its time limit: finish the step, save, and ask to be queued again."""

from typing import Any


def drain_and_requeue(job: Any) -> int:
    """Train until the end or until a signal; returns the exit status of the program.

    A job can call a handler `on_signal`, at any moment and even in the middle of a step: with
    "USR1" when its time limit is near, with "TERM" when it has been canceled. It says whether it is
    `finished`, takes a `step`, can `save` and ask for a `requeue`.

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

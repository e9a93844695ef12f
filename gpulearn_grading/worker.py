"""A judge in a process of its own, so that nothing which it reads can end the grader."""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from gpulearn_grading.apart import sandbox
from gpulearn_grading.apart.channel import ChannelClosed, MessageChannel, start
from gpulearn_grading.apart.limits import MIB, Confinement, Limits
from gpulearn_grading.judge import Judge, Verdict
from gpulearn_grading.submissions import Submission, read
from simt.device.selection import data_bytes

MAX_SECONDS = 240.0  # what a judge itself may take, beside an answer's own time


class WorkerLost(Exception):  # noqa: N818 - it says what happened
    """The judge has ended, or does not answer."""


class Worker:
    """The grader's side of a judge."""

    def __init__(self, confinement: Confinement) -> None:
        # in a session of its own: Ctrl-C is the grader's to deal with
        self._process, self._channel = start(__spec__.name, confinement, start_new_session=True)
        self._seconds = MAX_SECONDS + 8 * confinement.limits.seconds

    def verdict(self, submission: Submission, place: str) -> tuple[Verdict, str]:
        """What becomes of an answer, and which walls it lacked."""
        try:
            self._channel.end.send((submission, place))
            if not self._channel.end.poll(self._seconds):
                raise WorkerLost("the judge does not answer")
            reply = self._channel.receive()
        except (ChannelClosed, OSError):
            raise WorkerLost("the judge ended") from None
        lacks = reply.pop("lacks")
        return Verdict(**{**reply, "notes": tuple(reply["notes"])}), lacks

    def close(self) -> None:
        """End the judge, and all that it has started."""
        self._channel.end.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def main(end: Connection) -> None:
    """Judge what comes, answer by answer, until the grader is gone."""
    sandbox.bury_with(os.getppid())
    if sys.platform == "linux":
        sandbox.libc.prctl(sandbox.PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody looks into the judge
    confinement = end.recv()
    judge = Judge(confinement)
    # what answers send may be large once it is read; an answer's own limit is no business of this
    if sys.platform == "linux":
        most = max(confinement.limits.memory_mib, Limits().memory_mib) * MIB
        most = data_bytes() + int(most)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    channel = MessageChannel(end)
    try:
        while True:
            submission, place = end.recv()
            verdict = dataclasses.asdict(judge.verdict(place, read(submission)))
            channel.send({**verdict, "lacks": judge.lacks})
    except (EOFError, ChannelClosed):
        pass
    finally:
        judge.close()


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))

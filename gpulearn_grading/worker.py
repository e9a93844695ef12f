"""A judge in a process of its own, so that nothing which it reads can end the grader."""

from __future__ import annotations

import dataclasses
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from gpulearn_grading.apart import sandbox
from gpulearn_grading.apart.channel import ChannelClosed, MessageChannel, start
from gpulearn_grading.apart.limits import Confinement, Limits
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
        self._process, end = start(__spec__.name, confinement, start_new_session=True)
        self._channel = MessageChannel(end)
        self._seconds = MAX_SECONDS + 8 * confinement.limits.seconds

    def verdict(self, submission: Submission, place: str) -> tuple[Verdict, str]:
        """What becomes of an answer, and which walls it lacked."""
        files = [str(file) for file in submission.files]
        try:
            self._channel.send({"student": submission.student, "files": files, "place": place})
            if not select.select([self._channel.end], [], [], self._seconds)[0]:
                raise WorkerLost("the judge does not answer")
            reply = self._channel.receive()
        except ChannelClosed:
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


def main(arguments: list[str]) -> int:
    """Judge what comes, message by message."""
    sandbox.bury_with(os.getppid())
    if sys.platform == "linux":
        sandbox.libc.prctl(sandbox.PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody looks into the judge
    channel = MessageChannel(socket.socket(fileno=int(arguments[0])))
    confinement = Confinement.read(arguments[1])
    judge = Judge(confinement)
    # what answers send may be large once it is read; an answer's own limit is no business of this
    most = data_bytes() + max(confinement.limits.memory, Limits().memory)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        while True:
            request = channel.receive()
            code = read(Submission(request["student"], tuple(map(Path, request["files"]))))
            verdict = dataclasses.asdict(judge.verdict(request["place"], code))
            channel.send({**verdict, "lacks": judge.lacks})
    except ChannelClosed:
        return 0
    finally:
        judge.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

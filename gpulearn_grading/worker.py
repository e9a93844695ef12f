"""A judge in a process of its own, so that nothing which it reads can end the grader.

`python -m gpulearn_grading.worker` takes what is to be judged as lines of JSON and answers in
JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpulearn_grading.apart import sandbox
from gpulearn_grading.apart.limits import Limits
from gpulearn_grading.judge import Judge, Verdict
from gpulearn_grading.submissions import Submission, SubmittedCode, read
from simt.device.selection import ENVIRONMENT_VARIABLE

MOST_SECONDS = 240.0  # what a judge itself may take, beside an answer's own time


class WorkerLost(Exception):  # noqa: N818 - it says what happened
    """The judge has ended, or does not answer."""


class Worker:
    """The grader's side of a judge.

    Args:
        hidden: folders that no answer may see.
        box: an empty folder of this worker's own.
        limits: of each answer.
    """

    def __init__(self, hidden: list[Path], box: Path, limits: Limits) -> None:
        settings = json.dumps([[str(p) for p in hidden], str(box), vars(limits)])
        home = str(Path(__file__).parents[1])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        threads = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        self._limits = limits
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, settings],
            env={**os.environ, **threads, "PYTHONPATH": path, ENVIRONMENT_VARIABLE: "cpu"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is the grader's to deal with
        )

    def verdict(self, submission: Submission, place: str) -> tuple[Verdict, str]:
        """What becomes of an answer, and which walls it lacked."""
        files = [str(one) for one in submission.files]
        line = json.dumps({"student": submission.student, "files": files, "place": place})
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
            told = json.loads(self._line(MOST_SECONDS + 8 * self._limits.seconds))
        except (OSError, ValueError) as error:
            raise WorkerLost(str(error)) from None
        lacks = told.pop("lacks")
        return Verdict(**{**told, "notes": tuple(told["notes"])}), lacks

    def _line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        end, text = time.monotonic() + seconds, b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], end - time.monotonic())
            part = os.read(self._process.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                raise WorkerLost("the judge does not answer" if not ready else "the judge ended")
            text += part
        return text

    def close(self) -> None:
        """End the judge, and all that it has started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            pass
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()


def main(arguments: list[str]) -> int:
    """Judge what comes, line by line."""
    sandbox.bury_with(os.getppid())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is printed here goes nowhere
    if sys.platform == "linux":
        sandbox.libc.prctl(sandbox.PR_SET_DUMPABLE, 0, 0, 0, 0)  # nobody looks into the judge
    hidden, box, limits = json.loads(arguments[0])
    judge = Judge([Path(one) for one in hidden], Path(box), Limits(**limits))
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            code = _code(asked["student"], tuple(asked["files"]))
            told: dict[str, Any] = dataclasses.asdict(judge.verdict(asked["place"], code))
            answers.write(json.dumps({**told, "lacks": judge.lacks}) + "\n")
            answers.flush()
    finally:
        judge.close()
    return 0


@functools.lru_cache(maxsize=256)
def _code(student: str, files: tuple[str, ...]) -> SubmittedCode:
    return read(Submission(student, tuple(map(Path, files))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

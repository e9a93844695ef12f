"""Functions of a notebook that run in TensorFlow or JAX, in separate processes.

Both must know their number of devices before they start, and neither may be loaded beside what a
notebook's kernel already holds. Where a framework is not installed, the recorded result of the same
function is returned instead.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, NamedTuple

from gpulearn import require
from gpulearn.errors import BadInput, RankError
from gpulearn_lessons.frameworks import availability, recordings

DEVICES = {"tensorflow": 2, "jax": 8}  # parts of this CPU that count as devices of their own
NAMES = {"tensorflow": "TensorFlow", "jax": "JAX", "triton": "Triton"}
SECONDS = 300.0  # that a call may take
MAX_LINES = 6  # of what a process wrote on stderr before it died


class CallResult(NamedTuple):
    """What a call returned, as JSON text, and what it printed."""

    result: str
    printed: str


class Child:
    """A process that runs calls in TensorFlow or JAX, with the given number of devices.

    Its environment is this process's own and some more variables.
    """

    def __init__(
        self, framework: str, devices: int = 1, environment: Mapping[str, str] | None = None
    ) -> None:
        if os.name != "posix":
            raise BadInput("These processes start on Linux and macOS; on Windows use WSL.")
        self.framework = framework
        self.link, other = Pipe()
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        program = [sys.executable, "-m", "gpulearn_lessons.frameworks.child"]
        self.process = subprocess.Popen(
            [*program, framework, str(devices), str(other.fileno())],
            pass_fds=[other.fileno()],
            env={**os.environ, **variables(framework, devices), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=self.stderr,
            stderr=self.stderr,
            start_new_session=True,  # who interrupts a cell ends it through `end`
        )
        other.close()

    def begin(self, function: Callable[..., Any], *args: Any) -> None:
        """Send a call."""
        from gpulearn.parallel.launch.messages import packed

        with contextlib.suppress(OSError):  # who is dead is found in `wait`
            self.link.send_bytes(packed((function, args)))

    def wait(self, name: str, until: float) -> CallResult:
        """Wait for the outcome of the call of the function `name`; `RankError` if it failed."""
        try:
            if not self.link.poll(max(0.0, until - time.monotonic())):
                raise RankError(f"{name} did not end in time in {NAMES[self.framework]}.")
            answer = self.link.recv()
        except (EOFError, OSError):
            status = self.process.wait()
            self.stderr.seek(0)
            lines = self.stderr.read().decode(errors="replace").splitlines()
            raise RankError(
                f"The process in which {name} ran has died (status {status}). "
                f"Its last lines were:\n{chr(10).join(lines[-MAX_LINES:])}"
            ) from None
        if "message" in answer:
            error = RankError(f"{name} failed in {NAMES[self.framework]}: {answer['message']}")
            error.traceback = answer["traceback"]
            raise error
        return CallResult(answer["result"], answer["printed"])

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        self.link.close()
        self.stderr.close()


def variables(framework: str, devices: int) -> dict[str, str]:
    """Environment variables: how many devices, no GPU, and no log but errors."""
    package = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH")
    shared = {"PYTHONPATH": os.pathsep.join(filter(None, [package, known]))}
    if framework == "jax":
        flags = os.environ.get("XLA_FLAGS", "")
        count = f"--xla_force_host_platform_device_count={devices}"
        return shared | {"XLA_FLAGS": f"{flags} {count}".strip(), "JAX_PLATFORMS": "cpu"}
    return shared | {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}


_children: dict[str, Child] = {}


@atexit.register
def ended() -> None:
    """End the processes that wait for another call."""
    while _children:
        _children.popitem()[1].end()


def run(framework: str, fn: Callable[..., Any], *args: Any) -> Any:
    """Run a function in TensorFlow or JAX, in a separate process that is kept for the next call.

    The function imports its framework itself. TensorFlow has two logical CPUs there, JAX eight
    host devices; both are this computer's CPU. A line of output names the version, or says that
    the result was recorded.

    Args:
        framework: "tensorflow" or "jax".
        fn: the function; it may be defined in a cell, and gets copies of the names it uses.
        args: its arguments: numbers, strings, NumPy arrays, and lists of these.

    Returns:
        What it returned: numbers, strings, lists and dictionaries; arrays as lists.

    Raises:
        BadInput: there is no such framework.
        MissingPackage: it is not installed, and this function was not recorded as it stands.
        RankError: the function failed; the error's `traceback` has its traceback.
    """
    require.choice("framework", framework, DEVICES)

    def execute() -> CallResult:
        if framework not in _children:
            _children[framework] = Child(framework, DEVICES[framework])
        child = _children[framework]
        child.begin(fn, *args)
        try:
            return child.wait(fn.__name__, time.monotonic() + SECONDS)
        except BaseException as error:
            if not getattr(error, "traceback", None):  # else the function raised; its process lives
                _children.pop(framework).end()
            raise

    return run_or_recall(framework, framework, fn, args, execute)


def run_or_recall(
    how: str,
    framework: str,
    fn: Callable[..., Any],
    args: Sequence[Any],
    execute: Callable[[], CallResult],
) -> Any:
    """Run a call or find its recording, say which, and return its result."""
    if absent := availability.missing([framework]):
        recorded = recordings.find(how, fn, args, absent)
        print(f"[recorded on {recorded.date} with {NAMES[framework]} {recorded.version}]")
        print(recorded.printed, end="")
        return recorded.result
    version = availability.versions().get(framework, "")
    print(f"[{NAMES[framework]} {version}, run here]", flush=True)  # before it starts: seconds
    outcome = execute()
    print(outcome.printed, end="")
    result = json.loads(outcome.result)
    recordings.note(how, framework, fn, args, result, outcome.printed)
    return result

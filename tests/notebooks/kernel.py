"""Runs a notebook on a kernel without network, and collects all that goes wrong there.

nbclient drops what arrives late, from threads, or inside widgets; here every message of the
kernel is looked at, wherever it would be shown.
"""

import atexit
import contextlib
import copy
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tests.support.ready import ready_python

OFFLINE = Path(__file__).with_name("offline")
# ipykernel sends what threads and subprocesses print up to 0.2 s after they did.
CLOSING_CELL = "__import__('time').sleep(0.3)"
# Once after an installation, and no fault of the notebook that happens to be first.
HARMLESS = ("Matplotlib is building the font cache",)
PROGRESS = "progress.json"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True)
class Limits:
    """The seconds after which a cell or a notebook counts as one that never ends.

    They leave room for a busy machine; what a notebook may take is for `make bench` to measure.
    """

    cell: float = 180.0
    notebook: float = 360.0


@dataclass(frozen=True)
class Report:
    """One thing that went wrong while cell number `cell` (from 0) ran, or because of it."""

    cell: int
    kind: str  # "error", "stderr" or "network"
    text: str
    error: str = ""  # the exception's name
    lines: int = 0  # of the traceback as a learner sees it


@dataclass
class Run:
    """An executed notebook, what it reported and showed, and why it ended early if it did."""

    notebook: NotebookNode
    reports: list[Report] = field(default_factory=list)
    shown: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # cell, MIME -> data
    ended: str = ""
    last_cell: int = -1


def run(notebook: NotebookNode, folder: Path, limits: Limits, progress: str = "") -> Run:
    """Execute a copy of a notebook in `folder`; errors are reported, none is raised.

    `progress` is what the learner's file of progress holds beforehand.
    """
    # A Unix socket's path holds about 100 characters: pytest's folders are too deep.
    with tempfile.TemporaryDirectory(prefix="nb-") as name:
        scratch = Path(name)
        client = Client(copy.deepcopy(notebook), folder, scratch, limits)
        stderr = scratch / "stderr"
        if progress:
            (scratch / PROGRESS).write_text(progress, encoding="utf-8")
        with stderr.open("wb") as raw, client.leaving_nothing_behind():
            try:
                client.execute(env=environment(scratch), stdout=subprocess.DEVNULL, stderr=raw)
            except CellTimeoutError:
                client.run.ended = client.which_limit()
            except DeadKernelError:
                client.run.ended = "the kernel died"
            except RuntimeError as error:
                client.run.ended = f"the kernel did not start: {error}"
        if client.run.ended.startswith("the kernel"):
            last = stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            client.run.ended += f" ({last[0]})" if last else ""
        client.report_network()
        client.report_widgets()
        return client.run


def environment(scratch: Path) -> dict[str, str]:
    """The kernel's environment: no network, no GPU, nothing of the user's."""
    env = dict(os.environ)
    # ipykernel does not catch what subprocesses print while it thinks that pytest does.
    env.pop("PYTEST_CURRENT_TEST", None)
    folders = [str(OFFLINE), *filter(None, [env.get("PYTHONPATH")])]
    return env | {
        "PYTHONPATH": os.pathsep.join(folders),
        "GPULEARN_OFFLINE_LOG": str(scratch / "network"),
        "GPULEARN_DEVICE": "cpu",
        "GPULEARN_PROGRESS": str(scratch / PROGRESS),
        "IPYTHONDIR": str(scratch / "ipython"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHON_EXEC": ready_python(),  # torchrun starts its ranks with it
        # stops programs that are not Python, and no proxy of the user's hides a request
        **dict.fromkeys(PROXIES, "http://the-network.invalid:9"),
        "no_proxy": "localhost,127.0.0.1,::1",
    }


def reported(output: dict[str, Any], cell: int) -> list[Report]:
    """The report of an output that is an error or stands on stderr; of any other, none."""
    if output["output_type"] == "error":
        lines = "\n".join(output["traceback"]).splitlines()
        text = f"{output['ename']}: {output['evalue']}"
        return [Report(cell, "error", text, error=output["ename"], lines=len(lines))]
    if output.get("name") == "stderr" and not any(known in output["text"] for known in HARMLESS):
        return [Report(cell, "stderr", output["text"])]
    return []


def in_steps(receive: Callable[..., Any]) -> Callable[..., Any]:
    """A channel's `get_msg` that looks again each second.

    On a busy machine pyzmq may sleep through a message that has come: it then waits for the
    next one, or until the time is over.
    """

    async def get_msg(timeout: float) -> Any:
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            try:
                return await receive(timeout=max(0.0, min(1.0, left)))
            except Empty:
                if left <= 1.0:
                    raise

    return get_msg


class Kernel(AsyncKernelManager):
    """A kernel of the Python that runs the tests, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [ready_python(), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python", language="python")


class Client(NotebookClient):
    """Executes cells, and notes every error and warning with the cell that it comes from."""

    def __init__(self, nb: NotebookNode, folder: Path, scratch: Path, limits: Limits) -> None:
        self.run = Run(nb)
        self.scratch = scratch
        self.limits = limits
        self.deadline = time.monotonic() + limits.notebook
        self.cell_of: dict[str, int] = {}  # message or widget id -> number of its cell
        self.kernel_pid: int | None = None
        nb.cells.append(new_code_cell(CLOSING_CELL))
        super().__init__(
            nb,
            resources={"metadata": {"path": str(folder)}},
            allow_errors=True,
            store_widget_state=True,
            shutdown_kernel="immediate",
            timeout_func=lambda cell: self.seconds_left(),
            on_cell_execute=self.enter,
            on_cell_executed=lambda **_: self.report_network(),
        )

    def seconds_left(self) -> float:
        return max(0.01, min(self.limits.cell, self.deadline - time.monotonic()))

    def which_limit(self) -> str:
        if time.monotonic() >= self.deadline:
            return f"the notebook takes more than {self.limits.notebook:g} s"
        return f"takes more than {self.limits.cell:g} s"

    def enter(self, cell: NotebookNode, cell_index: int) -> None:
        self.run.last_cell = cell_index

    def create_kernel_manager(self) -> Kernel:
        transport = "tcp" if os.name == "nt" else "ipc"
        self.km = Kernel(connection_file=str(self.scratch / "kernel.json"), transport=transport)
        return self.km

    async def async_start_new_kernel_client(self) -> Any:
        kc = await super().async_start_new_kernel_client()
        self.kernel_pid = self.km.provisioner.pid
        receive = kc.iopub_channel.get_msg
        kc.shell_channel.get_msg = in_steps(kc.shell_channel.get_msg)

        async def receive_and_note(*args: Any, **kwargs: Any) -> dict[str, Any]:
            message = await receive(*args, **kwargs)
            self.note(message)
            return message

        kc.iopub_channel.get_msg = receive_and_note
        return kc

    @contextlib.contextmanager
    def leaving_nothing_behind(self) -> Iterator[None]:
        """Kill what the kernel started: it leads a process group of its own."""
        try:
            yield
        finally:
            atexit.unregister(self._cleanup_kernel)  # nbclient leaves it where a start failed
            if self.kernel_pid is not None and hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.kernel_pid, signal.SIGKILL)

    def note(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id", "")
        if kind == "execute_input":
            self.cell_of[parent] = self.run.last_cell
        elif kind == "comm_open":
            self.cell_of[content["comm_id"]] = self.cell_of.get(parent, self.run.last_cell)
        elif kind in ("error", "stream"):
            cell = self.cell_of.get(parent, self.run.last_cell)
            self.run.reports += reported({"output_type": kind, **content}, cell)
        elif "data" in content and not kind.startswith("comm"):
            cell = self.cell_of.get(parent, self.run.last_cell)
            self.run.shown.append((cell, content["data"]))

    def report_network(self) -> None:
        """Report what the processes of the cell that ran last tried to reach."""
        log = self.scratch / "network"
        if log.exists():
            for line in log.read_text(encoding="utf-8").splitlines():
                self.run.reports.append(Report(self.run.last_cell, "network", line))
            log.unlink()

    def report_widgets(self) -> None:
        """Report what ended up in the state of a widget and was never sent as a message."""
        for widget, state in self.widget_state.items():
            cell = self.cell_of.get(widget, self.run.last_cell)
            for output in state.get("outputs", ()):
                # most of it was a message first, and is known
                self.run.reports += [r for r in reported(output, cell) if r not in self.run.reports]
                self.run.shown.append((cell, output.get("data", {})))
            if isinstance(html := state.get("value"), str):
                self.run.shown.append((cell, {"text/html": html}))

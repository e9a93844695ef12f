"""The machine at hand: whether there is a GPU that can run a kernel, and what runs one here.

Neither torch nor numba is imported for it. The answer is decided once;
`GPULEARN_DEVICE=cpu|gpu|auto` overrides it.
"""

import contextlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simt.device import driver
from simt.device.driver import Gpu
from simt.errors import DeviceError

ENVIRONMENT_VARIABLE = "GPULEARN_DEVICE"
# set by a process whose own probe worked for those that it starts: a probe takes seconds
PROBED = "GPULEARN_PROBED"

# Compiled by the very numba that the course will use and run in a process of its own: a
# driver that refuses its PTX, or dies on it, then costs a sentence and not the notebook.
PROBE = """
import sys, numpy as np
from simt.device.numba_cuda import load
cuda = load()
@cuda.jit
def probe(out):
    out[0] = 42
try:
    out = cuda.to_device(np.zeros(1, dtype=np.int32))
    probe[1, 1](out)
    ok = out.copy_to_host()[0] == 42
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}".strip().splitlines()[0])
sys.exit(0 if ok else "the kernel gave a wrong result")
"""


@dataclass(frozen=True)
class Selection:
    """The answer: `kind` is "gpu" or "cpu", `reason` says why in one sentence."""

    kind: str
    reason: str
    gpus: tuple[Gpu, ...] = ()

    @property
    def name(self) -> str:
        """The GPU's name, or the CPU's where kernels do not run on a GPU."""
        return self.gpus[0].name if self.kind == "gpu" else cpu_name()


def run_probe(code: str = PROBE, seconds: float = 60) -> str | None:
    """Run one tiny kernel in a process of its own; None if it worked, else what went wrong."""
    home = str(Path(__file__).parents[2])  # wherever this process found the package
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    try:
        run = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path},
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"a tiny kernel did not end within {seconds:g} s"
    if run.returncode == 0:
        return None
    errors = run.stderr.strip().splitlines()
    return errors[-1] if errors else f"a tiny kernel ended its process with code {run.returncode}"


def _fault(probe: str) -> str | None:
    """As `run_probe`, once more with a toolkit that Numba has not found by itself."""
    from simt.device.numba_cuda import toolkit

    problem = run_probe(probe)
    if problem is not None and (home := toolkit()) is not None:
        os.environ["CUDA_HOME"] = home  # for this process too, and for what it starts
        if run_probe(probe) is None:
            return None
        del os.environ["CUDA_HOME"]
    return problem


def decide(
    environment: Mapping[str, str], gpus: tuple[Gpu, ...] | None = None, probe: str = PROBE
) -> Selection:
    """Decide where kernels run; `gpus` and `probe` are parameters so that tests can force them.

    Raises:
        DeviceError: `GPULEARN_DEVICE` is not `cpu`, `gpu` or `auto`, or it is `gpu` and no
            GPU can be used.
    """
    wish = environment.get(ENVIRONMENT_VARIABLE, "auto")
    if wish not in ("cpu", "gpu", "auto"):
        raise DeviceError(
            f"{ENVIRONMENT_VARIABLE}={wish!r} is not a device: set it to cpu, gpu or auto."
        )
    if wish == "cpu":
        return Selection("cpu", f"{ENVIRONMENT_VARIABLE}=cpu asks for the CPU")
    devices = driver.gpus() if gpus is None else gpus
    if not devices:
        fault = "no NVIDIA GPU here"
    elif PROBED not in environment and (problem := _fault(probe)) is not None:
        fault = f"the {devices[0].name} here cannot run a Numba kernel ({problem})"
    else:
        return Selection("gpu", f"{devices[0]} runs kernels", devices)
    if wish == "gpu":
        raise DeviceError(
            f"{ENVIRONMENT_VARIABLE}=gpu, but {fault}; set it to auto or cpu to go on without."
        )
    return Selection("cpu", fault, devices)


@cache
def current() -> Selection:
    """The device of this process, decided at the first call and kept."""
    return decide(os.environ)


def torch_gpu() -> bool:
    """Whether torch can use a GPU; where only Numba's kernels fail, it can all the same."""
    if not current().gpus:
        return False
    import torch

    return torch.cuda.is_available()


def cores() -> int:
    """The CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def waited_seconds(thread: int, process: int | str = "self") -> float:
    """What a thread of a process, by its native number, has waited for a core so far.

    0 where nobody knows. Source: Linux, Documentation/scheduler/sched-stats.rst.
    """
    try:
        return int(Path(f"/proc/{process}/task/{thread}/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def data_bytes() -> int:
    """How much memory this process has to write in, which RLIMIT_DATA counts; 0 if nobody knows.

    Source: Linux, getrlimit(2) and proc_pid_statm(5).
    """
    try:
        import resource

        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):  # Windows, macOS
        return 0


def release_data() -> None:
    """Let this process have all the memory that it may, whatever its parent was held to."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limits
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


@cache
def cpu_name() -> str:
    """The CPU's name as its maker gives it, without trimmings, else the architecture's."""
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        name = answer.stdout.strip()
    elif sys.platform == "win32":
        name = platform.processor()
    else:
        info = Path("/proc/cpuinfo")
        lines = info.read_text().splitlines() if info.exists() else []
        name = next((ln.split(":")[1].strip() for ln in lines if ln.startswith("model name")), "")
    return _plain_name(name) or platform.machine() or "unknown CPU"


def _plain_name(name: str) -> str:
    """The model alone, short enough for a legend.

    >>> _plain_name("11th Gen Intel(R) Core(TM) i7-1185G7 @ 3.00GHz")
    'Intel Core i7-1185G7'
    """
    unmarked = re.sub(r"\((R|TM)\)", "", name)
    trimmings = (
        r"^\d+(st|nd|rd|th) Gen | (with|w/) .*Graphics$|( \d+-Core)? Processor$|( CPU)? @ .*$"
    )
    return " ".join(re.sub(trimmings, "", unmarked).split())

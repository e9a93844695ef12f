"""Sets up the lab: `python -m tools.install` in a checkout makes `.venv` and fills it.

Only the standard library is used, since this runs before anything is installed. It is
what `make` calls. The one difficult choice is torch's: its default build for Linux
carries gigabytes of CUDA libraries, for nothing on a machine without an NVIDIA GPU.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["INSTALL", "ROOT", "VERSIONS", "main", "python_of"]

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
VERSIONS = ((3, 11), (3, 14))
Run = Callable[..., bool]
# Python compiles a module when it is first imported: most never are, and this halves the wait.
INSTALL = ("-m", "pip", "install", "--quiet", "--no-compile")
NEARBY = ("--timeout", "10", "--retries", "1")


def fault_of_python(version: tuple[int, int], has_venv: bool, platform: str) -> str | None:
    """One sentence on what keeps this Python from making the lab, or None."""
    have = f"{version[0]}.{version[1]}"
    oldest, newest = (f"{a}.{b}" for a, b in VERSIONS)
    if not VERSIONS[0] <= version <= VERSIONS[1]:
        return (
            f"This is Python {have}, and gpulearn needs {oldest} to {newest}: "
            f"run make with PYTHON=python{newest}."
        )
    if not has_venv:
        package = f"python{have}-venv" if platform == "linux" else "the venv module"
        how = f" (Debian, Ubuntu: sudo apt-get install {package})" if platform == "linux" else ""
        return f"Python {have} cannot make virtual environments: install {package}{how}."
    return None


def torch_pin() -> str:
    """The exact torch requirement of the constraints file, such as `torch==2.13.0`."""
    match = re.search(r"^torch==[\w.]+$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise SystemExit(f"{CONSTRAINTS.name} has no line torch==VERSION: add one.")
    return match.group()


def torch_from_pip(python: str, run: Run) -> bool:
    """Install torch's CPU build from wherever pip looks already: a folder of wheels, a mirror."""
    return run([python, *INSTALL, *NEARBY, f"{torch_pin()}+cpu"], quiet=True)


def torch_from_uv(python: str, backend: str, run: Run) -> bool:
    """Install torch's build for `backend` with uv, which knows where PyTorch keeps them.

    "cpu", or "auto": what the driver of the GPU here can run. Gives up after seconds where a
    server does not answer.
    """
    pip = [python, *INSTALL, *NEARBY, "uv"]
    uv = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    return run(pip, quiet=True) and run([*uv, "--torch-backend", backend, torch_pin()], quiet=True)


def install(
    python: str, extras: str, cuda: tuple[int, int] | None, platform: str, run: Run
) -> None:
    """Install torch, then the project in editable form, into the environment of `python`.

    Args:
        python: the environment's Python.
        extras: what of pyproject.toml to install.
        cuda: the newest CUDA that the driver here can run; None where there is no NVIDIA GPU.
        platform: as `sys.platform`.
        run: runs a command.

    Raises:
        SystemExit: pip failed; what it printed stands above.
    """
    if cuda is not None:
        extras += ",gpu" if cuda >= (13, 0) else ",gpu-cu12"
        if not torch_from_uv(python, "auto", run):
            print("PyTorch's own builds are out of reach, so pip takes its default.", flush=True)
    elif platform == "linux" and not (
        torch_from_pip(python, run) or torch_from_uv(python, "cpu", run)
    ):
        print(
            "No CPU build of torch is within reach, so pip takes its default build: "
            "several GB, and it works on this machine too.",
            flush=True,
        )
    project = ["--constraint", str(CONSTRAINTS), "--editable", f"{ROOT}[{extras}]"]
    if not run([python, *INSTALL, *project]):
        raise SystemExit("pip could not install gpulearn; its own words stand above.")


def python_of(environment: Path) -> str:
    """Where the Python of a virtual environment is."""
    scripts, name = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
    return str(environment / scripts / name)


def run_command(command: Sequence[str], quiet: bool = False) -> bool:
    """Run a command; True if it succeeded. What it prints is in sight unless `quiet`."""
    limits = {"UV_HTTP_TIMEOUT": "10", "UV_HTTP_RETRIES": "1"}
    done = subprocess.run(command, check=False, capture_output=quiet, env={**os.environ, **limits})
    return done.returncode == 0


def main() -> None:
    """Make `.venv` beside the package and install the lab and the tests' needs into it."""
    has_venv = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    fault = fault_of_python(sys.version_info[:2], has_venv, sys.platform)
    if fault:
        raise SystemExit(fault)
    from simt.device import driver

    folder = ROOT / ".venv"
    print(f"Setting up {folder.name} (a few minutes, once) …", flush=True)
    if not run_command([sys.executable, "-m", "venv", str(folder)]):
        raise SystemExit(f"The environment {folder} could not be made.")
    python = python_of(folder)
    gpus = driver.gpus()
    major, _, minor = gpus[0].driver.partition(".") if gpus else ("", "", "")
    cuda = (int(major), int(minor)) if gpus else None
    install(python, "lab,test", cuda, sys.platform, run_command)


if __name__ == "__main__":
    main()

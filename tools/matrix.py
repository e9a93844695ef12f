"""The bare install and its tests on several Pythons: `python -m tools.matrix`, or `make matrix`.

Each Python gets a fresh environment with `pip install .` and pytest, as coursework has it: no
torch, no CUDA compiler, no plots. The tests run in a folder away from the checkout, so that only
what was installed is found. `.ci/run` calls this for its own Python. Only the standard library is
used, since the Python that runs this needs nothing installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from gpulearn.tables import Table
from tools.install import INSTALL, ROOT, VERSIONS, python_of

__all__ = ["Outcome", "found_pythons", "main", "oldest_allowed", "outcome_of", "report"]

NEEDED = ("pytest", "pytest-xdist", "hypothesis")
COPIED = (
    "conftest.py",
    "gpulearn/judge/test_answers_in_cells.py",
    "simt",
    "support",
    "project/test_contract.py",
    "project/test_import.py",
)
# torch is not there and Numba's own CUDA target takes the place of numba-cuda: the machine and a
# notebook's answers have to do without
TESTS = ("project", "simt", "gpulearn/judge/test_answers_in_cells.py")
# random kernels take long, and `make check` asks them; the folders need a compiler of CUDA or
# numba-cuda
LEFT_OUT = (
    "simt/conformance",
    "simt/cpp",
    "simt/programs",
    "simt/ptx",
    "simt/test_fuzz.py",
    "simt/test_unchecked.py",
    "simt/test_readme.py",  # names files of the checkout
)
OPTIONS = ("-n", "auto", "--dist", "worksteal", "-q", "-W", "error", "-p", "no:cacheprovider")
# of the one who calls: the first ones would show the tests the checkout or another Python's
# packages; without the last one's caches each Python that a test starts compiles all that it loads
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "PYTHONDONTWRITEBYTECODE")


@dataclass(frozen=True)
class Outcome:
    """What the tests came to on one Python; `fault` says what kept them from running, or ""."""

    python: str
    numpy: str = "–"
    numba: str = "–"
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether tests ran and none failed."""
        return not self.fault and not self.failed and self.passed > 0

    @property
    def row(self) -> tuple[str, ...]:
        """Its cells in the table."""
        counts = (str(self.passed), str(self.failed), str(self.skipped), f"{self.seconds:.0f}")
        verdict = self.fault or ("passed" if self.ok else "failed")
        return (self.python, self.numpy, self.numba, *counts, verdict)


def clean_environment() -> dict[str, str]:
    """The caller's environment without what is only its own."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}


def output_of(command: Sequence[str]) -> str | None:
    """What a command prints, without the newline at its end; None where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=clean_environment()
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def version_of(python: str) -> str | None:
    """The version of a Python that can make environments, such as "3.12.1", or None."""
    code = "import ensurepip, venv, platform; print(platform.python_version())"
    return output_of([python, "-c", code])


def found_pythons() -> list[str]:
    """One Python for each version that gpulearn supports and this machine has.

    The one that runs this is preferred, then what PATH calls by its version, then pyenv's.
    """
    root = Path(output_of(["pyenv", "root"]) or "~/.pyenv").expanduser()
    pythons = []
    for minor in range(VERSIONS[0][1], VERSIONS[1][1] + 1):
        version = f"{VERSIONS[0][0]}.{minor}"
        places = [sys.executable, shutil.which(f"python{version}")]
        places += map(str, sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True))
        able = (p for p in places if p and f"{version_of(p)}.".startswith(f"{version}."))
        if python := next(able, None):
            pythons.append(python)
        else:
            print(f"Python {version} is not here, and is left out.", flush=True)
    return pythons


def oldest_allowed(project: str) -> list[str]:
    """The lower bounds of a `pyproject.toml`'s dependencies as pins, such as "numpy==2.0"."""
    bounds = tomllib.loads(project)["project"]["dependencies"]
    pins = [re.sub(r"^([\w-]+)>=([\d.]+)(;.*)?$", r"\1==\2", bound) for bound in bounds]
    for pin in pins:
        if "==" not in pin:
            raise SystemExit(
                f"{pin!r} in pyproject.toml states no lower bound: write NAME>=VERSION."
            )
    return pins


def outcome_of(python: str, folder: Path, pins: Sequence[str] = ()) -> Outcome:
    """Install into a fresh `folder/env`, copy the tests to `folder/tests`, and run them there.

    Args:
        python: the Python to make the environment with.
        folder: does not exist yet.
        pins: requirements beside the project's own, such as "numpy==2.0".
    """
    version = version_of(python)
    if version is None:
        return Outcome(python, fault="no Python that can make environments")
    env = clean_environment()
    print(f"== Python {version} {' '.join(pins)}".rstrip(), flush=True)
    subprocess.run([python, "-m", "venv", str(folder / "env")], check=True, env=env)
    inside = python_of(folder / "env")
    requirements = [str(ROOT), *NEEDED, *pins]
    if subprocess.run([inside, *INSTALL, *requirements], check=False, env=env).returncode:
        return Outcome(version, fault="pip could not install it")
    code = "import numpy, numba; print(numpy.__version__, numba.__version__)"
    versions = (output_of([inside, "-c", code]) or "– –").split()

    for name in COPIED:
        source, target = ROOT / "tests" / name, folder / "tests" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    results = folder / "results.xml"
    command = [inside, "-m", "pytest", *OPTIONS, "--import-mode=importlib", f"--junitxml={results}"]
    command += [f"tests/{name}" for name in TESTS]
    command += [f"--ignore=tests/{name}" for name in LEFT_OUT]
    begin = time.monotonic()
    status = subprocess.run(command, check=False, cwd=folder, env=env).returncode
    seconds = time.monotonic() - begin
    counts = counted(results)
    fault = f"pytest ended with {status}" if status and not counts[1] else ""
    return Outcome(version, versions[0], versions[1], *counts, seconds, fault)


def counted(results: Path) -> tuple[int, int, int]:
    """How many tests passed, failed and were skipped, by the XML that pytest wrote."""
    if not results.exists():
        return 0, 0, 0
    suites = list(ElementTree.parse(results).iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.get(what, "0")) for suite in suites)
        for what in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors, skipped


def report(outcomes: Sequence[Outcome]) -> Table:
    """One row for each Python."""
    headings = ("python", "numpy", "numba", "passed", "failed", "skipped", "seconds", "")
    return Table(headings, tuple(outcome.row for outcome in outcomes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Test on each Python and print the table; 0 if every row passed."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    parser.add_argument("pythons", nargs="*", help="Pythons to test on; else those found here")
    parser.add_argument(
        "--oldest",
        action="store_true",
        help="once more on the first Python, with the oldest dependencies allowed",
    )
    parser.add_argument("--into", type=Path, help="a folder that keeps the environments, 0/env …")
    options = parser.parse_args(arguments)
    rows: list[tuple[str, list[str]]] = [(p, []) for p in options.pythons or found_pythons()]
    if options.oldest:
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        rows.append((rows[0][0], oldest_allowed(project)))
    with nullcontext(options.into) if options.into else tempfile.TemporaryDirectory() as scratch:
        outcomes = [
            outcome_of(python, Path(scratch).absolute() / str(row), pins)
            for row, (python, pins) in enumerate(rows)
        ]
    print(report(outcomes))
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

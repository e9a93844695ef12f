"""`python -m gpulearn run`: a Numba CUDA program on the SIMT machine, unchanged.

What it prints is printed as it is. At the end stands on standard error what the machine found,
each mistake once, with file and line. The exit status is the program's own.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from gpulearn.device import driver, selection
from gpulearn.errors import GpulearnError
from gpulearn.programs.execution import run_notebook, run_script
from gpulearn.programs.launches import Launches
from gpulearn.simt.core.findings import SimtWarning
from gpulearn.simt.host.settings import keep_going, listening, unchecked
from gpulearn.simt.host.switch import replace_numba_cuda

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpulearn run", description=__doc__)
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE.html|DIR",
        help="write the report of every kernel's first launch, on one page or in a folder",
    )
    parser.add_argument(
        "--sanitize", action="store_true", help="end with status 1 if any finding is an error"
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="do not look for races and uninitialised reads, and compile kernels that take long",
    )
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="skip accesses out of bounds instead of stopping at the first, and list them all",
    )
    parser.add_argument(
        "--allow-errors",
        action="store_true",
        help="go on after a notebook's cell that fails, and tell of it",
    )
    parser.add_argument("program", type=Path, help="a script (.py) or a notebook (.ipynb)")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a program, tells what was found, and gives its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    program: Path = options.program
    if not program.is_file():
        parser.error(f"{str(program)!r} is no file: give a script (.py) or a notebook (.ipynb)")
    is_notebook = program.suffix == ".ipynb"
    if is_notebook and options.arguments:
        parser.error(f"{program.name} is a notebook, which takes no arguments")
    os.environ[selection.ENVIRONMENT_VARIABLE] = "cpu"  # for `from gpulearn import cuda` too
    for gpu in driver.gpus()[:1]:
        print(f"kernels run on the SIMT machine, not on the {gpu.name} here", file=sys.stderr)
    launches = Launches(in_detail=options.report is not None)
    with ExitStack() as stack:
        stack.enter_context(replace_numba_cuda())
        stack.enter_context(listening(launches))
        if options.fast:
            stack.enter_context(unchecked())
        if options.keep_going:
            stack.enter_context(keep_going())
        # each is told at the end, once
        warnings.filterwarnings("ignore", category=SimtWarning)
        try:
            if is_notebook:
                status = run_notebook(program, options.allow_errors)
            else:
                status = run_script(program, options.arguments)
        except GpulearnError as error:
            print(error, file=sys.stderr)
            return 2
    sys.stdout.flush()
    for sentence in launches.sentences():
        print(sentence, file=sys.stderr)
    if options.report is not None:
        launches.write(options.report)
    return status or int(options.sanitize and launches.errors > 0)

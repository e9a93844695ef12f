"""`python -m simt run`: a Numba CUDA or CUDA C++ program on the SIMT machine, unchanged.

What it prints is printed as it is. What the machine finds is told on standard error as soon as it
is found: each mistake once, with file and line. The exit status is the program's own.
"""

import argparse
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from simt.core.findings import SimtWarning
from simt.device import driver, selection
from simt.errors import SimtError
from simt.host.settings import keep_going, listening, unchecked
from simt.host.switch import replace_numba_cuda
from simt.programs.cuda.run import CudaProgram, run_built
from simt.programs.cuda.sources import SourceFiles
from simt.programs.execution import run_notebook, run_script
from simt.programs.launches import Launches

PROGRAM_KINDS = "a script (.py), a notebook (.ipynb), a CUDA program (.cu) or one that is built"


def common_options() -> argparse.ArgumentParser:
    """The options of every program, and of a cell that is one."""
    parser = argparse.ArgumentParser(add_help=False)
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
        help="do not look for races and uninitialized reads, and run kernels as machine code",
    )
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="skip accesses out of bounds instead of stopping at the first, and list them all",
    )
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="simt run", description=__doc__, parents=[common_options()]
    )
    parser.add_argument(
        "--allow-errors",
        action="store_true",
        help="go on after a notebook's cell that fails, and tell of it",
    )
    parser.add_argument(
        "--nvcc",
        metavar="OPTIONS",
        help="compile a CUDA program with nvcc, given these options: --nvcc='-I include -O2'",
    )
    parser.add_argument("program", type=Path, help=PROGRAM_KINDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a program, tells what is found, and gives its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    program: Path = options.program
    if not program.is_file():
        parser.error(f"{str(program)!r} is no file: give {PROGRAM_KINDS}")
    if program.suffix == ".ipynb" and options.arguments:
        parser.error(f"{program.name} is a notebook, which takes no arguments")
    os.environ[selection.ENVIRONMENT_VARIABLE] = "cpu"  # for what the program starts too
    for gpu in driver.gpus()[:1]:
        print(f"kernels run on the SIMT machine, not on the {gpu.name} here", file=sys.stderr)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return carry_out(options, lambda launches: _run(options, launches))
    except SimtError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


def carry_out(options: argparse.Namespace, run: Callable[[Launches], int]) -> int:
    """Runs a program as is asked for, tells what is found, and gives its exit status.

    A program that is interrupted or told to end still has its report.
    """
    where = sys.stderr  # which a program may replace, and standard output too

    def tell(sentence: str) -> None:
        with suppress(AttributeError, ValueError):
            sys.stdout.flush()
        print(sentence, file=where, flush=True)

    launches = Launches(in_detail=options.report is not None, tell=tell)
    with ExitStack() as stack:
        if options.fast:
            stack.enter_context(unchecked())
        if options.keep_going:
            stack.enter_context(keep_going())
        stopped: BaseException | None = None
        try:
            status = run(launches)
        except (KeyboardInterrupt, SystemExit) as end:
            status, stopped = 0, end
    for sentence in launches.notes:
        tell(sentence)
    if options.fast:
        from simt.ptx.native.launch import left_to_executor

        for kernel, reason in left_to_executor.items():
            tell(f"{kernel} did not run as machine code, and is slow: {reason}")
        left_to_executor.clear()
    if options.report is not None:
        launches.write(options.report)
    if stopped is not None:
        raise stopped
    return status or int(options.sanitize and launches.errors > 0)


def _run(options: argparse.Namespace, launches: Launches) -> int:
    program: Path = options.program
    if program.suffix in (".cu", ".cpp", ".cc", ".cxx"):
        with CudaProgram(program, options=shlex.split(options.nvcc or "")) as cuda:
            return cuda.run(options.arguments, launches)
    with program.open("rb") as file:
        built = file.read(4) == b"\x7fELF"
    if built:
        return run_built(program, SourceFiles(program), options.arguments, launches)
    with replace_numba_cuda(), listening(launches):
        # each is told once, by `launches`
        warnings.filterwarnings("ignore", category=SimtWarning)
        if program.suffix == ".ipynb":
            return run_notebook(program, options.allow_errors)
        return run_script(program, options.arguments, launches)

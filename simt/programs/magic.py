"""A notebook's cell that is a whole CUDA program: `%%cuda`."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from simt.errors import BadInput
from simt.programs.command_line import carry_out, common_options
from simt.programs.cuda.run import CudaProgram
from simt.programs.launches import Launches


class _Options(argparse.ArgumentParser):
    """Options that never end the process."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"%%cuda: {message}; it takes {self.format_usage().split('%%cuda ')[1]}")


def run_cell(line: str, cell: str) -> None:
    """`%%cuda [--report FILE] [--sanitize] [--fast] [--keep-going] [the program's arguments]`.

    Compiles the cell and runs it; what it prints and what was found stands below the cell.
    """
    parser = _Options(prog="%%cuda", parents=[common_options()], add_help=False)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(shlex.split(line))

    def run(launches: Launches) -> int:
        # the line of the magic counts, as it does in the editor
        with CudaProgram(Path("cell.cu"), f"\n{cell}") as program:
            return program.run(options.arguments, launches, captured=True)

    status = carry_out(options, run)
    if status:
        print(f"the program ends with status {status}", file=sys.stderr)

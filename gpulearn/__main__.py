"""`python -m gpulearn`: what this machine has, or a command: `run`, `grade`, `exercise`."""

import importlib
import sys

__all__ = ["main"]


# of each command, the module whose main takes what follows it
COMMANDS = {
    "run": "gpulearn.programs.command_line",  # a CUDA program on the SIMT machine
    "grade": "gpulearn.grade.command_line",  # a folder of submissions
    "exercise": "gpulearn.exercise.command_line",  # exercises in a file of your own
}


def main() -> int:
    """A command and what follows it, or the report of `gpulearn.device.command_line`."""
    if (command := "".join(sys.argv[1:2])) in COMMANDS:
        status: int = importlib.import_module(COMMANDS[command]).main(sys.argv[2:])
        return status
    from gpulearn.device.command_line import main as report

    return report()


if __name__ == "__main__":
    sys.exit(main())

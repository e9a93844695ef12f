"""`python -m gpulearn`: what this machine has, or one of the commands."""

import argparse
import importlib
import sys
from difflib import get_close_matches

from gpulearn import __version__

COMMANDS = {  # word → the module whose `main` takes what follows, what it does
    "run": ("simt.programs.command_line", "run a CUDA program or a Numba script without a GPU"),
    "ranks": (
        "gpulearn.parallel.watch.command_line",
        "run a training script on several ranks and say what it does silently wrong",
    ),
    "exercise": ("gpulearn.judge.command_line", "check exercises that you have written"),
    "course": ("gpulearn_grading.course.command_line", "make a course pack for your students"),
    "grade": ("gpulearn_grading.command_line", "grade a folder of submissions"),
}


def main() -> int:
    """Hand what follows a command to it, or print what this machine has."""
    word = sys.argv[1] if sys.argv[1:] else ""
    if word in COMMANDS:
        module = importlib.import_module(COMMANDS[word][0])
        return int(module.main(sys.argv[2:]))
    if word and not word.startswith("-"):
        near = "".join(f"; did you mean {name}?" for name in get_close_matches(word, COMMANDS, 1))
        known = ", ".join(COMMANDS)
        print(f"gpulearn: {word!r} is not one of {known}{near}", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(
        prog="gpulearn",
        usage="%(prog)s [--json] [COMMAND ...]",
        description="Without a command: what this machine has, and what the course will use of it.",
        epilog="commands, each with a --help of its own:\n"
        + "\n".join(f"  {name:<10} {what}" for name, (_, what) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--version", action="version", version=f"gpulearn {__version__}")
    options = parser.parse_args()
    from gpulearn.machine_report import print_report

    return print_report(options.json)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m simt run`: a CUDA program, in C++ or in Python, on the SIMT machine."""

import argparse
import sys


def main() -> int:
    """The exit status of the program that is run."""
    match sys.argv[1:]:
        case ["run", *arguments]:
            from simt.programs import command_line

            return command_line.main(arguments)
        case ["nvcc", *arguments]:
            from simt.programs.cuda import nvcc

            return nvcc.main(arguments)
    usage = (
        "python -m simt run [options] program.cu|script.py|notebook.ipynb|built_program [arguments]"
        "\n       python -m simt nvcc [what nvcc takes]"
    )
    parser = argparse.ArgumentParser(prog="simt", description=__doc__, usage=usage)
    parser.add_argument("command", choices=["run", "nvcc"])
    parser.parse_args()
    return 2


if __name__ == "__main__":
    sys.exit(main())

"""`python -m gpulearn`: what this machine has, or `run`: a CUDA program on the SIMT machine."""

import sys

__all__ = ["main"]


def main() -> int:
    """`run` and what follows it, or the report of `gpulearn.device.command_line`."""
    if sys.argv[1:2] == ["run"]:
        from gpulearn.programs import command_line

        return command_line.main(sys.argv[2:])
    from gpulearn.device.command_line import main as report

    return report()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m gpulearn`: the report of `gpulearn.device.command_line`."""

import sys

from gpulearn.device.command_line import main

if __name__ == "__main__":
    sys.exit(main())

"""How long the notebooks take a learner who runs them as they stand.

`python -m tools.bench.notebooks` executes each of them alone and prints its seconds; the exit
status is 1 if one takes longer than it may, or fails.
"""

from __future__ import annotations

import os
import platform
import time

from tests.notebooks.harness import NOTEBOOKS, faults
from tests.notebooks.page import read

__all__ = ["main"]

MAX_SECONDS = 120.0  # seconds, on 2 cores


def main() -> int:
    """Print a line for each notebook, and the seconds of all."""
    print(f"Notebooks as they stand, on {os.cpu_count()} cores ({platform.machine()}); ", end="")
    print(f"allowed: {MAX_SECONDS:g} s each")
    took, bad = {}, False
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        begin = time.perf_counter()
        problems = faults(read(path), path.name, "student")
        took[path.stem] = time.perf_counter() - begin
        slow = took[path.stem] > MAX_SECONDS
        bad |= slow or bool(problems)
        print(f"{path.stem:<32} {took[path.stem]:6.1f} s", "too slow" if slow else "", *problems)
    print(f"{'all':<32} {sum(took.values()):6.1f} s")
    return int(bad)


if __name__ == "__main__":
    raise SystemExit(main())

"""The program that Nsight Compute watches: launches cases once each, in order, and nothing else.

`python -m tools.gpu.counters.profiled NAMES JOURNAL SECONDS` reads the names of the cases
from a file, one per line. Each launch is written to the journal before it starts and after it
ended, so that what is measured can be matched with what was meant, also when the program died.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from simt.device import selection

__all__ = ["journal", "launch_all", "main"]


def launch_all(
    names: Iterable[str], write: Callable[[dict[str, Any]], None], seconds: float
) -> None:
    """Launch the small size of each case; after `seconds` no further one is begun.

    Args:
        names: of cases in the catalogue.
        write: takes an entry of the journal.
        seconds: the profiler prints nothing before this program ends, so it ends in time.
    """
    began = time.monotonic()
    write({"process": os.getpid()})
    from gpulearn import cuda
    from tools.gpu.cases import CASES
    from tools.gpu.counters.matching import kernel_of

    for name in names:
        if time.monotonic() - began > seconds:
            write({"stopped": name, "why": f"the {seconds:g} s for launches are over"})
            return
        try:
            case = CASES[name]
            shot = case.shot("small")
            arguments = shot.on_device()
        except Exception as error:  # one case that cannot be made costs that case
            write({"failed": name, "why": f"{type(error).__name__}: {error}".splitlines()[0]})
            continue
        write({"launch": name, "kernel": kernel_of(case)})
        try:
            case.kernel[shot.grid, shot.block](*arguments)
            cuda.synchronize()
        except Exception as error:
            write({"failed": name, "why": f"{type(error).__name__}: {error}".splitlines()[0]})
            if "cuda" in type(error).__name__.lower():
                return  # no launch of this process works after that one
            continue
        write({"done": name})
    write({"end": True})


def journal(path: Path) -> Callable[[dict[str, Any]], None]:
    """What writes an entry as a line of JSON, at once."""

    def write(entry: dict[str, Any]) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    return write


def main(arguments: list[str]) -> int:
    """Launch the cases named in a file; return the exit code."""
    asked, path, seconds = arguments
    names = Path(asked).read_text(encoding="utf-8").splitlines()
    # whoever started the profiler knows whether the GPU works: a probe would be profiled too
    found = selection.decide(os.environ, probe="")
    setattr(selection, "current", lambda: found)  # noqa: B010 - a function of a module, to a checker
    warnings.simplefilter("ignore")  # small grids are meant
    launch_all(names, journal(Path(path)), float(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

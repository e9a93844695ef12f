"""The step that times every kernel, in one process after another: `kernels-<device>.json`.

A launch that leaves the GPU unusable for its process, or ends it, costs its own row: the next
process goes on behind it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpulearn.perf.recordings import growing, load, path_of, recorded_here, save
from tools.gpu.recording.rows import Saver
from tools.gpu.recording.times import SECONDS, LostDeviceError, record_kernels
from tools.gpu.runner.step import seconds_left

__all__ = ["main"]

LOST = 3  # exit status: the device is lost, another process may go on
ATTEMPTS = 5
BEGUN = "kernels.begun"  # a file with the name of the case that is being launched


def main(arguments: Sequence[str] | None = None) -> int:
    """Time every kernel; return the exit status: 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.recording.attempts")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--seconds", type=float, default=seconds_left(SECONDS, 8.0))
    parser.add_argument("--attempt", type=int, default=0, help="the how manieth process this is")
    parser.add_argument("--ended", default="", help="how the last process ended")
    given = parser.parse_args(arguments)
    if given.attempt:
        return _attempt(given)
    again = list(sys.argv[1:] if arguments is None else arguments)
    end, ended = time.monotonic() + given.seconds, ""
    for attempt in range(1, ATTEMPTS + 1):
        left = max(1.0, end - time.monotonic())
        more = ["--attempt", str(attempt), "--seconds", str(left), "--ended", ended]
        command = [sys.executable, "-m", "tools.gpu.recording.attempts", *again, *more]
        status = subprocess.run(command, check=False).returncode
        if status in (0, 1, 2):
            break
        ended = "lost" if status == LOST else f"its process ended with status {status}"
        print(f"attempt {attempt}: {ended}", flush=True)
    (given.folder / BEGUN).unlink(missing_ok=True)
    return 1 if status not in (0, 2) else status


def _attempt(given: argparse.Namespace) -> int:
    """One process's part: what is not yet done."""
    size, repeats = ("small", 2) if given.rehearse else ("large", 30)
    done = _rows_before(given) if given.attempt > 1 else []
    with growing(Saver(given.folder, every=0.0)):
        try:
            made = record_kernels(
                None, size, given.seconds, done, repeats, (given.folder / BEGUN).write_text
            )
        except LostDeviceError as error:
            print(f"the device is lost: {error}")
            return LOST
    save(made, given.folder)
    wrong = [row for row in made.rows if "error" in row]
    for row in wrong:
        print(f"{row['case']}: {row['error']}")
    print(f"{sum('seconds' in row for row in made.rows)} of {len(made.rows)} cases timed")
    return 1 if wrong else 0


def _rows_before(given: argparse.Namespace) -> list[dict[str, Any]]:
    """What earlier processes found, with a row for the case in which the last one died."""
    here = recorded_here("kernels", [], "cpu" if given.rehearse else "cuda")
    path, begun = path_of(here, given.folder), given.folder / BEGUN
    done = load(path).rows if path.exists() else []
    if given.ended != "lost" and begun.exists():
        done.append({"case": begun.read_text(), "error": given.ended})
    return done


if __name__ == "__main__":
    sys.exit(main())

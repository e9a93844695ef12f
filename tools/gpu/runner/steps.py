"""The steps of `make gpu`, in the order in which they are run, with their limits in seconds.

A limit counts the start of Python (torch takes 3 to 5 s) and Numba's compiler, which takes 0.1
to 1 s for each kernel. Nothing runs beside a step that takes times. All limits together are more
than the budget: most steps end before theirs, and no step may use up what later ones need.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.gpu.recording.record import families
from tools.gpu.runner.step import Step

__all__ = ["BUDGET", "LIMITS", "SLOW", "steps"]

RECORDING = 20.0  # the recording of a figure; most take 10 to 15 on an H200
LONGER = {"matmul": 40.0, "roofline": 30.0, "training": 40.0}
SLOW = 4.0  # a rehearsal's limits are so many times as long: it may have two busy cores
BUDGET = 460.0  # seconds for all steps; the rest of the 8 minutes is for starting and ending

# step -> its module, its limit
LIMITS = {
    "environment": ("runner.environment", 40.0),
    "tests": ("runner.outcomes", 90.0),
    **{
        f"recordings/{name}": ("recording.record", LONGER.get(name, RECORDING))
        for name in families()
    },
    "ladder": ("recording.record", 60.0),
    "ladder-ideas": ("recording.record", 60.0),
    "kernels": ("recording.attempts", 85.0),
    "counters": ("counters.profile", 180.0),
    "estimates": ("estimates", 30.0),
}


def steps(folder: Path, rehearse: bool) -> list[Step]:
    """Every step with its command; each writes its results into `folder` by itself.

    Args:
        folder: where the recordings go.
        rehearse: whether to use tiny sizes, on the CPU.
    """
    options = ["--folder", str(folder), *(["--rehearse"] if rehearse else [])]
    found = []
    for name, (module, limit) in LIMITS.items():
        what = [name.rpartition("/")[2]] if module == "recording.record" else []
        command = (sys.executable, "-m", f"tools.gpu.{module}", *what, *options)
        found.append(Step(name, limit * (SLOW if rehearse else 1), command))
    return found

"""`make gpu`: what only a machine with a GPU can tell, in about 8 minutes.

The tests of `tests/gpulearn/gpu` run, among them every kernel on the real `numba.cuda`; the times
that figures show and the ladder of products are recorded; the SIMT machine's counters are held
against Nsight Compute's. Each step runs in a process of its own and has a limit in seconds: one
that fails, crashes or hangs costs its own row of the summary, and the next goes on.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from gpulearn.perf import recordings
from gpulearn.perf.recordings import OutOfTimeError
from simt.device import selection

__all__ = ["STEPS", "Step", "main", "run"]

ROOT = Path(__file__).parents[2]
SLOW = 5  # a rehearsal's limits are so many times as long: it may have two busy cores
GRACE = 5.0  # seconds after its limit in which a step writes what it has
REHEARSAL = "This is a rehearsal on the CPU with tiny sizes: nothing of it is a recording."


@dataclass(frozen=True)
class Step:
    """A part of the visit.

    Attributes:
        seconds: it may take; most take less. The start of Python, torch and Numba's compiler count.
        module: has the function `record_…` of the step's name; none for the tests.
        tiny: arguments of a rehearsal.
    """

    seconds: int
    module: str = ""
    tiny: dict[str, Any] = field(default_factory=dict)


TINY_ROOF = {"n": 32, "batches": (1, 16), "numbers": 1024, "sizes": (32,), "seconds": 0.005}
TINY_PRODUCTS = {"sizes": (16,), "dtypes": ("float32", "bfloat16"), "on": "cpu"}
TINY_STEPS = {"batch": 4, "precisions": ("float32", "bfloat16")}
STEPS = {
    "tests": Step(120),
    "matmul": Step(60, "tools.record.products", TINY_PRODUCTS),
    "reductions": Step(20, "gpulearn.plot.recorders.reductions", {"n": 2**14}),
    "roofline": Step(30, "gpulearn_lessons.roofline.recorded_roofline", TINY_ROOF),
    "strides": Step(20, "gpulearn.plot.recorders.strides", {"n": 256, "repeated": 100}),
    "training": Step(40, "gpulearn.plot.recorders.training", TINY_STEPS),
    "transposes": Step(20, "gpulearn.plot.recorders.transposes", {"n": 32}),
    "ladder": Step(60, "tools.record.products", {"sizes": (16,)}),
    "counters": Step(120, "tools.record.counters", {"every": 40}),
}


def record(name: str, folder: Path, rehearse: bool) -> int:
    """A step's own process: measure until the limit and save; 1 if a row has an error."""
    step = STEPS[name]
    function = getattr(importlib.import_module(step.module), f"record_{name}")
    recording = function(**step.tiny if rehearse else {})
    signal.alarm(0)
    print(f"{len(recording.rows)} rows in {recordings.save(recording, folder)}")
    if name == "counters":
        from tools.record.counters import summary

        print(summary(recording))
    faults = [row for row in recording.rows if "error" in row]
    for row in faults:
        print(f"without a time: {row}")
    return 1 if faults or not recording.rows else 0


def command(name: str, folder: Path, rehearse: bool) -> list[str]:
    """What runs a step."""
    if name == "tests":
        quiet = ["-q", "--tb=short", "-p", "no:cacheprovider", "-W", "default"]
        return [sys.executable, "-m", "pytest", str(ROOT / "tests/gpulearn/gpu"), *quiet]
    step = [sys.executable, "-m", "tools.record", "--step", name, "--folder", str(folder)]
    return [*step, *(["--rehearse"] if rehearse else [])]


def run(command: Sequence[str], seconds: float, environment: dict[str, str]) -> str:
    """Run a command, with what it starts, for some seconds at most; how it ended, in a word or two.

    The command is told its limit by an alarm of its own, and is killed where that is of no use.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:  # what it left behind ends too, also when the user interrupts
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return "crashed" if status < 0 else "failed" if status else "right"


def environment(rehearse: bool) -> dict[str, str]:
    """The variables that steps see: this checkout's package, and one device for all."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "PYTHONUNBUFFERED": "1",
        "MPLBACKEND": "Agg",
        # never the SIMT machine by mistake where a GPU is to be measured
        selection.ENVIRONMENT_VARIABLE: "cpu" if rehearse else "gpu",
        **({"GPULEARN_REHEARSAL": "yes"} if rehearse else {selection.PROBED: "yes"}),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit status: 0 only if every step was right."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=__doc__)
    add = parser.add_argument
    add("--only", action="append", choices=STEPS, default=[], help="a step; repeatable")
    add("--list", action="store_true", help="show the steps and their limits")
    add("--folder", type=Path, help="where recordings go; gpulearn/perf/recorded if not said")
    add("--rehearse", action="store_true", help="try every step on the CPU, with tiny sizes")
    add("--step", choices=STEPS, help=argparse.SUPPRESS)  # this process is the step's
    options = parser.parse_args(arguments)
    slow = SLOW if options.rehearse else 1
    if options.step:
        signal.signal(signal.SIGALRM, _out_of_time)
        signal.alarm(slow * STEPS[options.step].seconds)
        return record(options.step, options.folder, options.rehearse)
    chosen = {name: STEPS[name].seconds * slow for name in STEPS if name in (options.only or STEPS)}
    if options.list:
        print("\n".join(f"{name:12} {seconds:4} s" for name, seconds in chosen.items()))
        return 0
    if not options.rehearse and (fault := _no_gpu()):
        print(fault)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        usual = Path(scratch) if options.rehearse else recordings.FOLDER
        return _visit(chosen, (options.folder or usual).resolve(), options.rehearse)


def _visit(chosen: dict[str, int], folder: Path, rehearse: bool) -> int:
    signal.signal(signal.SIGTERM, _stop)  # whoever ends this ends the step's processes too
    ends, known = {}, environment(rehearse)
    for number, (name, seconds) in enumerate(chosen.items(), 1):
        print(f"[{number}/{len(chosen)}] {name} (at most {seconds} s)", flush=True)
        began = time.monotonic()
        status = run(command(name, folder, rehearse), seconds + GRACE, known)
        ends[name] = f"{name:12} {status:12} {time.monotonic() - began:6.1f} s"
        print(ends[name], flush=True)
    right = sum(" right " in line for line in ends.values())
    print("", *ends.values(), f"{right} of {len(ends)} steps were right.", sep="\n")
    print(REHEARSAL if rehearse else f"Recordings: {folder}")
    return 0 if right == len(ends) else 1


def _no_gpu() -> str | None:
    """Why nothing can be measured here, or None."""
    here = selection.decide({**os.environ, selection.ENVIRONMENT_VARIABLE: "auto"})
    if here.kind == "gpu":
        return None
    return (
        f"make gpu needs an NVIDIA GPU that runs Numba's kernels: {here.reason}. "
        f"`make gpu ARGS=--rehearse` tries every step on the CPU."
    )


def _out_of_time(number: int, frame: object) -> NoReturn:
    raise OutOfTimeError


def _stop(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

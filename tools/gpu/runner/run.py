"""`make gpu`: tests, recordings and comparisons on a machine with a GPU, in under 8 minutes.

Each step runs in a process of its own and has a limit in seconds. One that fails costs its own
row of the summary, and the next goes on.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from gpulearn.perf import recordings
from simt.device import selection
from tools.gpu.recording.record import families
from tools.gpu.runner import summary
from tools.gpu.runner.step import GRACE, SECONDS, Outcome, Step, run_step

__all__ = [
    "BUDGET",
    "LIMITS",
    "SLOW",
    "environment",
    "limit_now",
    "main",
    "run",
    "steps",
    "without_places",
]

LEAST = 3.0  # seconds; with less left, a step is not begun
KEPT = 0.55  # of the limits of later steps, which no earlier one may use up
ROOT = Path(__file__).parents[3]

RECORDING = 20.0  # the recording of a figure; most take 10 to 15 on an H200
LONGER = {"matmul": 40.0, "roofline": 30.0, "training": 40.0}
SLOW = 4.0  # a rehearsal's limits are so many times as long: it may have two busy cores
BUDGET = 460.0  # seconds for all steps; the rest of the 8 minutes is for starting and ending

# Step -> its module, and its limit in seconds, in the order in which they are run. A limit counts
# the start of Python (torch takes 3 to 5 s) and Numba's compiler, which takes 0.1 to 1 s for each
# kernel. Nothing runs beside a step that takes times. All limits together are more than the
# budget: most steps end before theirs, and no step may use up what later ones need.
LIMITS = {
    "environment": ("runner.environment", 40.0),
    "tests": ("runner.outcomes", 90.0),
    **{
        f"recordings/{name}": ("recording.record", LONGER.get(name, RECORDING))
        for name in families()
    },
    "ladder": ("recording.record", 60.0),
    "ladder-ideas": ("recording.record", 60.0),
    "kernels": ("recording.times", 85.0),
    "counters": ("counters.recording", 180.0),
    "estimates": ("estimates", 30.0),
}


def run(
    chosen: Sequence[Step],
    budget: float,
    logs: Path,
    environment: Mapping[str, str],
    after: summary.After = lambda outcomes: None,
) -> list[Outcome]:
    """Run steps one after the other, within `budget` seconds in all.

    Args:
        chosen: the steps, in order. A step gets its limit, or what is left of the budget when
            a part of the later steps' limits is kept for them.
        budget: seconds.
        logs: the folder for the output of each.
        environment: the variables that they see.
        after: is given all outcomes so far after each step.
    """
    end = time.monotonic() + budget
    outcomes: list[Outcome] = []
    for number, step in enumerate(chosen, 1):
        limit = limit_now(step, chosen[number:], end - time.monotonic())
        if limit < LEAST:
            outcomes.append(Outcome(step.name, "no time left", 0.0, ""))
        else:
            print(f"[{number}/{len(chosen)}] {step.name} (at most {limit:.0f} s)", flush=True)
            log = logs / f"{step.name.replace('/', '-')}.log"
            known = {**environment, SECONDS: str(limit)}
            outcome = run_step(step, limit, log, known)
            outcomes.append(replace(outcome, said=without_places(outcome.said)))
            print(summary.ending(outcomes[-1]), flush=True)
        try:
            after(outcomes)
        except Exception as error:  # a full disk, say: the steps that follow print all the same
            print(f"      results could not be summed up or copied: {error}", flush=True)
    return outcomes


def limit_now(step: Step, later: Sequence[Step], left: float) -> float:
    """The seconds that a step may take now.

    Args:
        step: comes next.
        later: those after it; a part of their limits is kept for them.
        left: seconds of the budget.
    """
    left -= GRACE
    kept = sum(KEPT * other.seconds + GRACE for other in later)
    return min(step.seconds, max(left - kept, KEPT * step.seconds), left)


def without_places(text: str) -> str:
    """A text without the folders of this machine: results are published."""
    places = {str(ROOT): ".", sys.prefix: "python", sys.base_prefix: "python"}
    for place in sorted(places, key=len, reverse=True):  # an environment may lie in the checkout
        text = text.replace(place, places[place])
    return text


def environment(rehearse: bool, logs: Path) -> dict[str, str]:
    """The variables that steps see: this checkout's package, and one device for all."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    wanted = {
        "PYTHONPATH": path,
        "PYTHONUNBUFFERED": "1",  # what was said before a crash must be in the log
        "PYTHONFAULTHANDLER": "1",
        "PYTHONIOENCODING": "utf-8",
        "MPLBACKEND": "Agg",
        "GPULEARN_PROGRESS": str(logs / "progress.json"),
        # never the SIMT machine by mistake where a GPU is to be measured
        selection.ENVIRONMENT_VARIABLE: "cpu" if rehearse else "gpu",
    }
    if not rehearse:
        wanted[selection.PROBED] = "yes"
    return {**os.environ, **wanted}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit status: 0 only if every step was right."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu", description=__doc__)
    add = parser.add_argument
    add("--only", action="append", default=[], metavar="NAME", help="a step or group; repeatable")
    add("--skip", action="append", default=[], metavar="NAME", help="leave out a step or group")
    add("--list", action="store_true", help="show the steps and their limits")
    add("--folder", type=Path, help="where results go; gpulearn/perf/recorded if not said")
    add("--copy", type=Path, metavar="FOLDER", help="put one archive of all results there too")
    add("--budget", type=float, metavar="SECONDS", help=f"for all steps together; {BUDGET:g}")
    add("--rehearse", action="store_true", help="try every step on the CPU, with tiny sizes")
    given = parser.parse_args(arguments)
    if given.budget is None:
        given.budget = BUDGET * (SLOW if given.rehearse else 1)
    if given.budget <= 0:
        parser.error(f"--budget is {given.budget:g}: give seconds above zero")
    work = Path(tempfile.mkdtemp(prefix="gpulearn-gpu-"))
    folder = (
        given.folder or (work / "recorded" if given.rehearse else recordings.FOLDER)
    ).resolve()
    every = steps(folder, given.rehearse)
    known = {n for step in every for n in (step.name, step.name.partition("/")[0])}
    only, skip = set(given.only), set(given.skip)
    if unknown := sorted((only | skip) - known):
        parser.error(f"there is no step {unknown[0]!r}: --list shows them")
    chosen = [s for s in every if (not only or s.chosen(only)) and not s.chosen(skip)]
    if given.list:
        for step in chosen:
            print(f"{step.name:28} {step.seconds:4.0f} s")
        return 0
    if not given.rehearse and (fault := _no_gpu()):
        print(fault)
        return 1
    if given.rehearse and folder == recordings.FOLDER.resolve():
        parser.error("a rehearsal makes no recording: give it another --folder")
    return _visit(chosen, folder, work, given)


def _visit(chosen: list[Step], folder: Path, work: Path, given: argparse.Namespace) -> int:
    logs = work / "logs"
    for place in (folder, logs):
        place.mkdir(parents=True, exist_ok=True)
    rehearse = given.rehearse
    if rehearse:
        print(f"{summary.REHEARSAL}\n")
    signal.signal(signal.SIGTERM, _stop)  # whoever ends this ends the step's processes too
    began = time.time()

    def after(outcomes: list[Outcome]) -> None:
        summary.write(outcomes, folder, began, rehearse)
        if given.copy is not None:
            summary.copy(folder, logs, given.copy)

    outcomes = run(chosen, given.budget, logs, environment(rehearse, logs), after)
    print(summary.text(outcomes, folder, began, rehearse))
    print(f"Results: {folder}\nOutput of each step: {logs}")
    return 0 if all(outcome.right for outcome in outcomes) else 1


def _no_gpu() -> str | None:
    """Why nothing can be measured here, or None."""
    here = selection.decide({**os.environ, selection.ENVIRONMENT_VARIABLE: "auto"})
    if here.kind == "gpu":
        os.environ[selection.PROBED] = "yes"  # this process asks again when it writes the summary
        return None
    return (
        f"make gpu needs an NVIDIA GPU that runs Numba's kernels: {here.reason}. "
        f"`make gpu ARGS=--rehearse` tries every step on the CPU."
    )


def _stop(number: int, frame: object) -> NoReturn:
    raise SystemExit(128 + number)


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

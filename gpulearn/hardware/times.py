"""The time of every kernel of the package on this GPU: the recording `kernels`.

Each result is held against NumPy first. A launch that leaves the GPU unusable for its process
costs its own row: another process goes on with the next case.
"""

from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import sys
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpulearn import cuda, device
from gpulearn.hardware.case import Case, Shot
from gpulearn.hardware.cases import CASES
from gpulearn.hardware.clock import event_times, sweeper
from gpulearn.hardware.rows import Saver
from gpulearn.hardware.step import seconds_left
from gpulearn.performance.recordings import (
    Recording,
    growing,
    load,
    path_of,
    recorded_here,
    save,
)
from gpulearn.simt.settings import unchecked

__all__ = ["LostDeviceError", "main", "one_of_each_first", "record_kernels"]

SECONDS = 55.0  # for all cases
AHEAD = 4  # cases whose numbers are made while another runs: NumPy takes longer than the GPU
SWEPT = {"cuda": 2**28, "cpu": 2**10}  # float32 numbers: 1 GB, many times a cache
LOST = 3  # exit status: the device is lost, another process may go on
ATTEMPTS = 4
Clock = Callable[[Callable[[], object]], list[float]]


class LostDeviceError(RuntimeError):
    """The GPU does not answer this process any more."""


def record_kernels(
    cases: Iterable[Case] | None = None,
    size: str = "large",
    seconds: float = SECONDS,
    done: Sequence[Mapping[str, Any]] = (),
    repeats: int = 30,
) -> Recording:
    """Time every case that may run on a GPU, with CUDA events.

    Args:
        cases: by default the catalogue; one case of each kernel comes first.
        size: the size of their launches.
        seconds: when they are up, the rest is left out by name.
        done: rows of an earlier attempt, which are kept; their cases are not run again.
        repeats: of each launch, at most.

    Returns:
        Rows with `case`, `kernel`, `notebook`, `size`, `blocks`, `threads` (of a block), `bytes`
        (of its arrays), and `seconds` (the median), `spread` (between the quartiles), `repeats`;
        or `error`; or `left_out`.

    Raises:
        LostDeviceError: the device answers no more; `growing` has seen the rows until then.
    """
    on = "cuda" if device.current().kind == "gpu" else "cpu"
    todo = _todo(CASES.values() if cases is None else cases, size, done)
    clock = partial(event_times, before=sweeper(SWEPT[on]), most=repeats)
    rows = _rows(todo, size, time.monotonic() + seconds, clock)
    return recorded_here("kernels", itertools.chain(map(dict, done), rows), on)


def _todo(cases: Iterable[Case], size: str, done: Sequence[Mapping[str, Any]]) -> list[Case]:
    names = {row["case"] for row in done}
    fit = one_of_each_first(c for c in cases if size in c.sizes and c.runs_on_gpu)
    return [case for case in fit if case.name not in names]


def one_of_each_first(cases: Iterable[Case]) -> list[Case]:
    """The first case of every kernel, then the second of every kernel, and so on."""
    by_kernel: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_kernel[case.kernel.__name__].append(case)
    turns = [(turn, case) for some in by_kernel.values() for turn, case in enumerate(some)]
    return [case for _, case in sorted(turns, key=lambda pair: pair[0])]


def _rows(cases: list[Case], size: str, end: float, clock: Clock) -> Iterator[dict[str, Any]]:
    for case, prepared in _ahead(cases, size):
        fields = {"case": case.name, "kernel": case.kernel.__name__, "notebook": case.notebook}
        if time.monotonic() > end:
            prepared.cancel()
            yield fields | {"left_out": "the time was up"}
            continue
        try:
            shot, wanted = prepared.result()
            yield fields | _described(shot, size) | _timed(case, shot, wanted, clock)
        except Exception as error:
            said = (str(error).strip().splitlines() or [""])[0]
            yield fields | {"error": f"{type(error).__name__}: {said}"}
            _ask_device()


Prepared = tuple[Shot, Mapping[int, Any]]


def _ahead(cases: list[Case], size: str) -> Iterator[tuple[Case, Future[Prepared]]]:
    """Each case with what a thread makes of it, some cases ahead."""
    pool = ThreadPoolExecutor(AHEAD)
    waiting: deque[tuple[Case, Future[Prepared]]] = deque()
    try:
        for case in cases:
            waiting.append((case, pool.submit(_prepare, case, size)))
            if len(waiting) > AHEAD:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _prepare(case: Case, size: str) -> Prepared:
    shot = case.shot(size)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    return shot, case.expect(*copies)


def _described(shot: Shot, size: str) -> dict[str, Any]:
    blocks, threads = (
        math.prod(np.atleast_1d(shape).tolist()) for shape in (shot.grid, shot.block)
    )
    return {"size": size, "blocks": blocks, "threads": threads, "bytes": shot.bytes}


def _timed(case: Case, shot: Shot, wanted: Mapping[int, Any], clock: Clock) -> dict[str, Any]:
    with unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a kernel that is wrong on purpose, or a small grid
        args = case.run(shot)
        for place, value in wanted.items():
            case.compare(place, args[place], value)
        launch = case.kernel[shot.grid, shot.block]
        times = clock(lambda: launch(*args))
    low, middle, high = np.quantile(times, (0.25, 0.5, 0.75))
    return {"seconds": float(middle), "spread": float(high - low), "repeats": len(times)}


def _ask_device() -> None:
    """Check that a copy there and back still works."""
    try:
        cuda.synchronize()
        there = cuda.to_device(np.arange(3)).copy_to_host()
    except Exception as error:
        raise LostDeviceError(str(error)) from error
    if there.tolist() != [0, 1, 2]:
        raise LostDeviceError("a copy came back changed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write `kernels-<device>.json`; return the exit status: 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m gpulearn.hardware.times")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--seconds", type=float, default=seconds_left(SECONDS, 8.0))
    parser.add_argument("--attempt", type=int, default=0, help="the how manieth process this is")
    parser.add_argument("--ended", default="", help="how the last process ended")
    given = parser.parse_args(arguments)
    if given.attempt:
        return _attempt(given)
    end, again = (
        time.monotonic() + given.seconds,
        list(sys.argv[1:] if arguments is None else arguments),
    )
    ended = ""
    for attempt in range(1, ATTEMPTS + 1):
        left = max(1.0, end - time.monotonic())
        more = ["--attempt", str(attempt), "--seconds", str(left), "--ended", ended]
        status = subprocess.run(
            [sys.executable, "-m", "gpulearn.hardware.times", *again, *more], check=False
        ).returncode
        if status in (0, 1, 2):
            return status
        ended = "lost" if status == LOST else f"its process ended with status {status}"
        print(f"attempt {attempt}: {ended}", flush=True)
    return 1


def _attempt(given: argparse.Namespace) -> int:
    """One process's part: what is not yet done."""
    size = "small" if given.rehearse else "large"
    done = _rows_before(given, size) if given.attempt > 1 else []
    with growing(Saver(given.folder, every=0.0)):
        try:
            made = record_kernels(None, size, given.seconds, done, 2 if given.rehearse else 30)
        except LostDeviceError as error:
            print(f"the device is lost: {error}")
            return LOST
    save(made, given.folder)
    wrong = [row for row in made.rows if "error" in row]
    for row in wrong:
        print(f"{row['case']}: {row['error']}")
    print(f"{sum('seconds' in row for row in made.rows)} of {len(made.rows)} cases timed")
    return 1 if wrong else 0


def _rows_before(given: argparse.Namespace, size: str) -> list[dict[str, Any]]:
    """What earlier processes found; where one died, its case is the first without a row."""
    path = path_of(recorded_here("kernels", [], "cpu" if given.rehearse else "cuda"), given.folder)
    done = load(path).rows if path.exists() else []
    todo = _todo(CASES.values(), size, done)
    if given.ended != "lost" and todo:
        done.append({"case": todo[0].name, "kernel": todo[0].kernel.__name__, "error": given.ended})
    return done


if __name__ == "__main__":
    sys.exit(main())

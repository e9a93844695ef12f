"""The time of every kernel of the package on this GPU: the recording `kernels`.

Each result is held against NumPy; a wrong one has no time. The step runs in one process after
another: a launch that leaves the GPU unusable for its process, or ends it, costs its own row, and
the next process goes on behind it.
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

from gpulearn import cuda
from gpulearn.perf.recorders.measuring import fault
from gpulearn.perf.recordings import Recording, growing, load, path_of, recorded_here, save
from simt.device import selection
from simt.host.settings import unchecked
from tools.gpu.case import Case, Shot
from tools.gpu.cases import CASES
from tools.gpu.recording.record import Saver
from tools.gpu.runner.step import seconds_left

__all__ = [
    "LostDeviceError",
    "event_times",
    "main",
    "one_of_each_first",
    "record_kernels",
    "sweeper",
]

SECONDS = 75.0  # for all cases
AHEAD = 4  # cases whose numbers are made while another runs: NumPy takes longer than the GPU
# float32 numbers: 2 GB, many times a cache, and longer than the host takes to launch a kernel
SWEPT = {"cuda": 2**29, "cpu": 2**10}
Prepared = tuple[Shot, Mapping[int, Any]]
Clock = Callable[[Callable[[], object]], list[float]]

AT_LEAST, LONG = 5, 0.1  # repeats of a launch; seconds, after which more are not needed

LOST = 3  # exit status: the device is lost, another process may go on
ATTEMPTS = 5
BEGUN = "kernels.begun"  # a file with the name of the case that is being launched


class LostDeviceError(RuntimeError):
    """The GPU does not answer this process any more."""


def record_kernels(
    cases: Iterable[Case] | None = None,
    size: str = "large",
    seconds: float = SECONDS,
    done: Sequence[Mapping[str, Any]] = (),
    repeats: int = 30,
    begin: Callable[[str], object] = lambda name: None,
) -> Recording:
    """Time every case that may run on a GPU, with CUDA events.

    Args:
        cases: by default the catalogue; one case of each kernel comes first.
        size: the size of their launches.
        seconds: when they are up, the rest is left out by name.
        done: rows of an earlier attempt, which are kept; their cases are not run again.
        repeats: of each launch, at most.
        begin: is told the name of a case before it is launched.

    Returns:
        Rows with `case`, `kernel`, `notebook`, `size`, `blocks`, `threads` (of a block), `bytes`
        (of its arrays), and `seconds` (the median), `spread` (between the quartiles), `repeats`;
        or `error`; or `left_out`.

    Raises:
        LostDeviceError: the device answers no more; `growing` has seen the rows until then.
    """
    on = "cuda" if selection.current().kind == "gpu" else "cpu"
    todo = _todo(CASES.values() if cases is None else cases, size, done)
    clock = partial(event_times, before=sweeper(SWEPT[on]), most=repeats)
    rows = _rows(todo, size, time.monotonic() + seconds, clock, begin)
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


def _rows(
    cases: list[Case], size: str, end: float, clock: Clock, begin: Callable[[str], object]
) -> Iterator[dict[str, Any]]:
    """A row for each case, while threads make the next ones' numbers and check the last results."""
    pool = ThreadPoolExecutor(2 * AHEAD)
    timed: deque[tuple[dict[str, Any], Future[None]]] = deque()  # and not yet checked
    try:
        for case, prepared in _ahead(pool, cases, size):
            fields = {"case": case.name, "kernel": case.kernel.__name__, "notebook": case.notebook}
            if time.monotonic() > end:
                prepared.cancel()
                yield fields | {"left_out": "the time was up"}
                continue
            try:
                shot, wanted = prepared.result()
                begin(case.name)
                row, got = _timed(case, shot, wanted, clock)
            except Exception as error:
                yield from (_judged(*timed.popleft()) for _ in range(len(timed)))
                yield fields | fault(error)
                _ask_device()
                continue
            fields |= _described(shot, size) | row
            timed.append((fields, pool.submit(_check, case, got, wanted)))
            if len(timed) > AHEAD:
                yield _judged(*timed.popleft())
        yield from (_judged(*timed.popleft()) for _ in range(len(timed)))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _ahead(
    pool: ThreadPoolExecutor, cases: list[Case], size: str
) -> Iterator[tuple[Case, Future[Prepared]]]:
    """Each case with what a thread makes of it, some cases ahead."""
    waiting: deque[tuple[Case, Future[Prepared]]] = deque()
    for case in cases:
        waiting.append((case, pool.submit(_prepare, case, size)))
        if len(waiting) > AHEAD:
            yield waiting.popleft()
    yield from (waiting.popleft() for _ in range(len(waiting)))


def _prepare(case: Case, size: str) -> Prepared:
    shot = case.shot(size)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in shot.args]
    return shot, case.expect(*copies)


def _check(case: Case, got: Mapping[int, Any], wanted: Mapping[int, Any]) -> None:
    for place, value in wanted.items():
        case.compare(place, got[place], value)


def _judged(row: dict[str, Any], checked: Future[None]) -> dict[str, Any]:
    """The row, if its result was right: a wrong kernel has no time."""
    try:
        checked.result()
    except Exception as error:
        return {k: v for k, v in row.items() if k not in ("seconds", "spread")} | fault(error)
    return row


def _described(shot: Shot, size: str) -> dict[str, Any]:
    blocks, threads = (
        math.prod(np.atleast_1d(shape).tolist()) for shape in (shot.grid, shot.block)
    )
    return {"size": size, "blocks": blocks, "threads": threads, "bytes": shot.bytes}


def _timed(
    case: Case, shot: Shot, wanted: Iterable[int], clock: Clock
) -> tuple[dict[str, Any], dict[int, Any]]:
    """The time of a launch, and what the first one left in the arguments at these places."""
    with unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a kernel that is wrong on purpose, or a small grid
        args = case.run(shot)
        got = {place: args[place].copy_to_host() for place in wanted}
        launch = case.kernel[shot.grid, shot.block]
        times = clock(lambda: launch(*args))
    low, middle, high = np.quantile(times, (0.25, 0.5, 0.75))
    row = {"seconds": float(middle), "spread": float(high - low), "repeats": len(times)}
    return row, got


def _ask_device() -> None:
    """Check that a copy there and back still works."""
    try:
        cuda.synchronize()
        there = cuda.to_device(np.arange(3)).copy_to_host()
    except Exception as error:
        raise LostDeviceError(str(error)) from error
    if there.tolist() != [0, 1, 2]:
        raise LostDeviceError("a copy came back changed")


def event_times(
    launch: Callable[[], object], before: Callable[[], object], most: int = 30
) -> list[float]:
    """Seconds of single launches between two CUDA events, `most` or as many as take 0.1 s.

    Args:
        launch: what is timed.
        before: work for the GPU that comes before each: while it goes on, the host launches, so
            that the host's time is not between the events.
        most: how many launches.
    """
    times: list[float] = []
    while len(times) < most and (len(times) < AT_LEAST or sum(times) < LONG):
        start, end = cuda.event(timing=True), cuda.event(timing=True)
        before()
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end) / 1e3)  # it is in milliseconds
    return times


def _sum_up(values: Any, total: Any) -> None:
    """Reads everything; the sum of numbers above zero is never -1, which no compiler knows."""
    found = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        found += values[i]
    if found == np.float32(-1):
        total[0] = found


def sweeper(n: int) -> Callable[[], None]:
    """A launch that reads n numbers: caches then hold nothing of a kernel's data."""
    kernel = cuda.jit(_sum_up)
    numbers = np.random.default_rng(0).random(min(n, 2**20), np.float32)
    values = cuda.device_array(n, np.float32)
    for start in range(0, n, numbers.size):
        values[start : start + numbers.size].copy_to_device(numbers)
    total = cuda.to_device(np.zeros(1, np.float32))
    grid = min(4096, n // 256)
    return lambda: kernel[grid, 256](values, total)


def main(arguments: Sequence[str] | None = None) -> int:
    """Time every kernel; return the exit status: 0 if every result was right."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.recording.times")
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
        command = [sys.executable, "-m", "tools.gpu.recording.times", *again, *more]
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

"""`gl.launch(function, 4)`: runs a function on four ranks, from a notebook cell or a script."""

from __future__ import annotations

import errno
import functools
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gpulearn import require
from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.launch.failures import Interrupted, error_of
from gpulearn.parallel.launch.forkserver import meeting_place
from gpulearn.parallel.launch.group import Group
from gpulearn.parallel.launch.messages import (
    Failure,
    Job,
    RankResults,
    Result,
    results_of,
    traveling_call,
)
from gpulearn.parallel.process_group import MAX_TIMEOUT
from gpulearn.parallel.simulate.simulate import simulate
from gpulearn.parallel.watch.folder import records, told
from simt.device import selection

R = TypeVar("R")
BACKENDS = ("gloo", "nccl", "simulated")


def launch(
    fn: Callable[..., R],
    nprocs: int,
    *args: Any,
    timeout: float = 30.0,
    debug: bool = False,
    backend: str | None = None,
    restarts: int = 0,
    watch: bool = False,
) -> RankResults[R]:
    """Run a function on several ranks at once: real processes that can communicate.

    Each rank calls `fn(*args)` with `torch.distributed` set up, so `dist.get_rank()`,
    `dist.all_reduce(…)` and all else work in it. What ranks print appears line by line with the
    rank in front. The function, its arguments and what it uses of the notebook travel to the
    ranks as copies; what it changes there stays there, and what it returns comes back.

    Random numbers are those of fresh processes, as under torchrun: torch's, NumPy's and Python's
    global ones differ from rank to rank and from launch to launch. Seed what is to be the same.

    Args:
        fn: what every rank runs; it may be defined in a notebook's cell.
        nprocs: how many ranks.
        args: its arguments.
        timeout: seconds that a rank waits for another, in a collective or at the end.
        debug: whether the ranks compare what they are about to do before each collective;
            slower, but ranks that do different things are told at once.
        backend: "gloo", or "nccl" with a GPU for each rank; chosen by what is here if None.
            "simulated": threads that take turns, as `gl.simulate` describes.
        restarts: how often all ranks may be started again when one has failed, as with
            `torchrun --max-restarts`. The function begins anew each time, so it should go on from
            a checkpoint. The environment variable TORCHELASTIC_RESTART_COUNT tells it how often
            that was so far.
        watch: whether what the training does silently wrong is told at the end, as
            `python -m gpulearn ranks` tells it; in `findings` of what is returned, too.

    Returns what each rank returned, a list in order of rank; its `restarts` is how often they were
    started again. A `RankError` names the first rank to fail, with its line and its causes; what
    Python said there in full is the error's `traceback`.

    >>> launch(pow, 2, 7, 2)
    [49, 49]
    """
    ranks = require.whole("nprocs", nprocs)
    require.above_zero("timeout", timeout)
    budget = require.from_zero("restarts", restarts)
    if backend == "simulated" and budget:
        raise BadInput(
            f"restarts is {budget}: simulated ranks are not started again; leave backend out."
        )
    if backend == "simulated":
        return RankResults(simulate(fn, ranks, *args, timeout=timeout).results)
    if not hasattr(os, "fork"):
        raise BadInput("Ranks start on Linux and macOS; on Windows run the notebook in WSL.")
    payload = traveling_call(fn, args)
    chosen = _backend(backend, ranks)
    with meeting_place() as folder, records(watch) as notes:
        for count in itertools.count():
            environment = os.environ | {
                "TORCHELASTIC_RESTART_COUNT": str(count),
                "TORCHELASTIC_MAX_RESTARTS": str(budget),
            }
            jobs = [
                Job(
                    payload=payload,
                    rank=rank,
                    size=ranks,
                    backend=chosen,
                    rendezvous=str(folder / f"rendezvous {count}"),
                    timeout=min(float(timeout), MAX_TIMEOUT),
                    threads=max(1, selection.cores() // ranks),
                    debug=debug,
                    environment=environment,
                    watch=notes,
                )
                for rank in range(ranks)
            ]
            outcomes = _run(jobs, float(timeout))
            error = error_of(outcomes)
            findings = told(notes, failed=error is not None) if watch else ()
            if error is None:
                break
            if count == budget:
                raise error from None
            message = str(error).partition("\n")[0].rstrip(".")
            print(f"{message}. Restarting all ranks: restart {count + 1} of {budget}.", flush=True)
    results = results_of([outcome.payload for outcome in outcomes if isinstance(outcome, Result)])
    return RankResults(results, count, findings)


def _run(jobs: Sequence[Job], timeout: float) -> list[Result | Failure]:
    """Start the ranks and wait for all; what became of each."""
    try:
        return Group(jobs, timeout).run()
    except OSError as refused:
        if refused.errno not in (errno.EMFILE, errno.ENFILE):
            raise
        raise RankError(
            f"{len(jobs)} ranks need more open files than this process may have: start fewer, or "
            f"raise its limit (ulimit -n) before the notebook starts"
        ) from None
    except KeyboardInterrupt:
        raise Interrupted(f"you ended it: none of the {len(jobs)} ranks is left.") from None


def _backend(name: str | None, ranks: int) -> str:
    """The backend that was asked for if it can be had, else the best that can."""
    import torch

    gpus = torch.cuda.device_count() if selection.current().kind == "gpu" else 0
    if name is None:
        if 0 < gpus < ranks:
            _say_shared(ranks, gpus)
        return "nccl" if gpus >= ranks else "gloo"
    chosen = require.choice("backend", name, BACKENDS)
    if chosen == "nccl" and gpus < ranks:
        raise BadInput(
            f"nprocs is {ranks}, and there {'is' if gpus == 1 else 'are'} {gpus} GPU"
            f"{'' if gpus == 1 else 's'}: NCCL wants one for each rank. Take backend='gloo'."
        )
    return chosen


@functools.cache  # once for each pair: a notebook launches many times
def _say_shared(ranks: int, gpus: int) -> None:
    print(
        f"{ranks} ranks share {gpus} GPU{'s' if gpus > 1 else ''}: NCCL wants one for "
        f"each rank, so they communicate through the CPU (gloo).",
        file=sys.stderr,
    )

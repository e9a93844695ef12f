"""A rank's side: it joins the group, runs the function, and sends back what came of it."""

import atexit
import contextlib
import datetime
import faulthandler
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from gpulearn.parallel.launch.flight_recorder import recorded
from gpulearn.parallel.launch.messages import Calls, Failure, Job, Result, failure, packed
from simt.device.selection import release_data

FOLDER = "GPULEARN_SERVER_FOLDER"  # the environment variable that names it
# the server, from which ranks are copied, takes its folder away when the launcher is gone
if folder := os.environ.pop(FOLDER, None):
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def run(job: Job, out: Connection, err: Connection, life: Connection) -> None:
    """Be one rank, from start to end.

    What is printed goes to `out` and `err`, and one pickled `Result` or `Failure` into the file for
    the answer. When it is asked, by `life`, the rank writes down where it is and which collectives
    it has called. When `life` ends the launcher is gone, and this process ends too.
    """
    if not Path(job.rendezvous).parent.is_dir():
        # the launch was interrupted before this process had a number: FileStore would wait for
        # the folder, and hold the interpreter's lock, so that nobody could end this process
        os._exit(1)
    process = os.getpid()
    _settle(job, out, err)
    threading.Thread(target=_heed_launcher, args=(job, life), daemon=True).start()
    try:
        message: Result | Failure = Result(_call(job), _called(job))
    except BaseException as error:
        message = failure(error, _called(job))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if os.getpid() != process:
        os._exit(0)  # a copy that the function made of this process: it is not the rank
    job.report("answer").write_bytes(pickle.dumps(message))
    # without the interpreter's farewell: a collective that still hangs would hold it up
    os._exit(0 if isinstance(message, Result) else 1)


def _settle(job: Job, out: Connection, err: Connection) -> None:
    os.setsid()  # an interrupt in the notebook reaches the launcher alone
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server is shielded from it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    release_data()  # the server may have begun while an answer was held to little
    # as in a fresh process: the server's would be one sequence for all ranks
    np.random.seed()  # noqa: NPY002 - the reader's code may draw from it
    torch.seed()
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    for number, name in ((1, "stdout"), (2, "stderr")):
        # line by line, also when print's text goes to a pipe
        stream = os.fdopen(number, "w", buffering=1, encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
    stack = job.report("stack").open("w")
    faulthandler.enable(file=stack)  # where it was when a library ended the process
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
    os.environ.update(job.environment)
    os.environ.update(
        RANK=str(job.rank),
        LOCAL_RANK=str(job.rank),
        WORLD_SIZE=str(job.size),
        LOCAL_WORLD_SIZE=str(job.size),
        OMP_NUM_THREADS=str(job.threads),
        TORCH_DISTRIBUTED_DEBUG="DETAIL" if job.debug else "OFF",
    )
    dist.set_debug_level_from_env()  # type: ignore[attr-defined]
    torch.set_num_threads(job.threads)
    # what a rank starts, such as a loader's workers, starts as it would from a script
    multiprocessing.current_process().daemon = False
    multiprocessing.set_start_method(None, force=True)


def _heed_launcher(job: Job, life: Connection) -> None:
    """Say what was called when the launcher asks, and end when it is gone."""
    with contextlib.suppress(EOFError, OSError):
        while life.recv_bytes():
            job.report("calls").write_bytes(pickle.dumps(_called(job)))
    os.killpg(0, signal.SIGKILL)


def _call(job: Job) -> bytes:
    function, args = pickle.loads(job.payload)
    if job.backend == "nccl":
        torch.cuda.set_device(job.rank)
    store = dist.FileStore(job.rendezvous, job.size)  # type: ignore[attr-defined]
    store.set_timeout(datetime.timedelta(seconds=job.timeout))
    dist.init_process_group(
        job.backend,
        store=store,
        rank=job.rank,
        world_size=job.size,
        timeout=datetime.timedelta(seconds=job.timeout),
    )
    dist.barrier()  # a rank that ends at once would be gone before the others have found it
    if not job.watch:
        return traveling(function(*args))
    from gpulearn.parallel.watch.watch import start

    watch = start(job.watch)
    try:
        return traveling(function(*args))
    finally:
        watch.end()


def _called(job: Job) -> Calls:
    """The collectives that this rank called, if gloo carried them and nobody compared them."""
    return recorded() if job.backend == "gloo" and job.size > 1 and not job.debug else {}


def traveling(result: Any) -> bytes:
    """A rank's result as bytes; `TypeError` where it cannot become bytes."""
    try:
        return packed(result)
    except Exception as error:
        raise TypeError(
            f"the result, of type {type(result).__name__}, cannot travel back to the notebook "
            f"({error}): return numbers, arrays, tensors or lists of them"
        ) from None

"""A rank's side: it joins the group, runs the function, and sends back what came of it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
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
from gpulearn.parallel.launch.messages import (
    Calls,
    Failure,
    Job,
    Result,
    TraceFrame,
    causes_of,
    frames_of,
    packed,
    traceback_of,
)
from simt.device.selection import release_data

FOLDER = "GPULEARN_SERVER_FOLDER"  # the environment variable that names it
# the server, from which ranks are copied, takes its folder away when the launcher is gone
if folder := os.environ.pop(FOLDER, None):
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def run(
    job: Job,
    out: Connection,
    err: Connection,
    answer: Connection,
    stack: Connection,
    calls: Connection,
    life: Connection,
) -> None:
    """Be one rank, from start to end.

    What is printed goes to `out` and `err`, and one pickled `Result` or `Failure` to `answer`.
    When it is asked, by `life`, the rank says where it is (`stack`) and which collectives it has
    called (`calls`). When `life` ends the launcher is gone, and this process ends too.
    """
    process = os.getpid()
    _settle(job, out, err, stack)
    threading.Thread(target=_heed_launcher, args=(job, calls, life), daemon=True).start()
    try:
        message: Result | Failure = Result(_call(job), _called(job))
    except BaseException as error:
        message = failure(error, frames_of(error), _called(job))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if os.getpid() != process:
        os._exit(0)  # a copy that the function made of this process: it is not the rank
    with os.fdopen(answer.fileno(), "wb", closefd=False) as pipe:
        pickle.dump(message, pipe)
    # without the interpreter's farewell: a collective that still hangs would hold it up
    os._exit(0 if isinstance(message, Result) else 1)


def _settle(job: Job, out: Connection, err: Connection, stack: Connection) -> None:
    if hasattr(os, "setsid"):
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
    faulthandler.enable(file=stack.fileno())  # where it was when a library ended the process
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=stack.fileno(), all_threads=False)
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
    _keep_memory()
    # what a rank starts, such as a loader's workers, starts as it would from a script
    multiprocessing.current_process().daemon = False
    multiprocessing.set_start_method(None, force=True)


def _keep_memory() -> None:
    """Let the C library keep memory that was given up, for the next step's gradients.

    By chance of what lies around it, such memory goes back to the system, and comes anew, page
    by page: 10 ms of a step's 80, with 40 MB of gradients. Only glibc can be told.
    """
    with contextlib.suppress(Exception):
        library = ctypes.CDLL(None)
        library.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
        library.mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the most that it takes


def _heed_launcher(job: Job, calls: Connection, life: Connection) -> None:
    """Say what was called when the launcher asks, and end when it is gone."""
    with contextlib.suppress(EOFError, OSError):
        while life.recv_bytes():
            # not one `write`: a pipe takes so much at once, and the launcher reads meanwhile
            with os.fdopen(calls.fileno(), "wb", closefd=False) as pipe:
                pickle.dump(_called(job), pipe)
    os.killpg(0, signal.SIGKILL) if hasattr(os, "killpg") else os._exit(1)


def _call(job: Job) -> bytes:
    function, args = pickle.loads(job.payload)
    if job.backend == "nccl":
        torch.cuda.set_device(job.rank)
    if not Path(job.rendezvous).parent.is_dir():
        # the launch was interrupted before this process had a number: FileStore would wait for
        # the folder, and hold the interpreter's lock, so that nobody could end this process
        os._exit(1)
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
    return traveling(function(*args))


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


def failure(
    error: BaseException, frames: tuple[TraceFrame, ...], calls: Calls | None = None
) -> Failure:
    """What a rank has to say of an exception."""
    try:
        message = str(error).strip().encode(errors="backslashreplace").decode()
    except Exception:  # an exception of the reader's own that cannot be printed
        message = ""
    about = getattr(error, "about", "")
    origin = causes_of(error), traceback_of(error), about if isinstance(about, str) else ""
    return Failure(type(error).__name__, message, frames, calls or {}, *origin)

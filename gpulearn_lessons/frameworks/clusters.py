"""TensorFlow in several processes: workers that train together, and servers with workers."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from gpulearn import require
from gpulearn_lessons.frameworks.child import serve
from gpulearn_lessons.frameworks.processes import SECONDS, CallResult, Child, run_or_recall


def free_ports(count: int) -> list[int]:
    """Ports of this computer that are free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in sockets]


def cluster_of(**counts: int) -> dict[str, list[str]]:
    """Addresses for the given number of processes of each kind, as in TF_CONFIG."""
    ports = iter(free_ports(sum(counts.values())))
    return {kind: [f"localhost:{next(ports)}" for _ in range(n)] for kind, n in counts.items()}


def started(
    stack: contextlib.ExitStack, cluster: Mapping[str, list[str]], kind: str, index: int
) -> Child:
    """Start a process that knows its place in a cluster and ends with the stack."""
    place = {"cluster": cluster, "task": {"type": kind, "index": index}}
    # GRPC_FAIL_FAST: a coordinator waits for servers that are still starting
    child = Child("tensorflow", 1, {"TF_CONFIG": json.dumps(place), "GRPC_FAIL_FAST": "use_caller"})
    stack.callback(child.end)
    return child


def kill_when(process: int, condition: Callable[[], Any]) -> None:
    """Wait until a condition holds, and kill a process."""
    while not condition():
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)


def run_workers(workers: int, fn: Callable[..., Any], *args: Any) -> Any:
    """Run a function in several TensorFlow processes that know each other through TF_CONFIG.

    Worker 0 is the chief. Arguments and errors are those of `run`. Returns what each worker
    returned, in order.
    """
    count = require.whole("workers", workers)

    def execute() -> CallResult:
        until = time.monotonic() + SECONDS
        with contextlib.ExitStack() as stack:
            cluster = cluster_of(worker=count)
            children = [started(stack, cluster, "worker", n) for n in range(count)]
            for child in children:
                child.begin(fn, *args)
            outcomes = [child.wait(fn.__name__, until) for child in children]
        return CallResult(f"[{', '.join(o.result for o in outcomes)}]", outcomes[0].printed)

    return run_or_recall(f"{count} workers", "tensorflow", fn, args, execute)


def run_with_servers(workers: int, servers: int, fn: Callable[..., Any], *args: Any) -> Any:
    """Run a function as the coordinator of parameter servers and workers, each a process.

    The first argument of `fn`, which the coordinator runs, is a function that waits until a
    condition holds and then kills the last worker by SIGKILL. The other arguments and errors are
    those of `run`. Returns what the coordinator returned.
    """
    counts = {"worker": require.whole("workers", workers), "ps": require.whole("servers", servers)}

    def execute() -> CallResult:
        until = time.monotonic() + SECONDS
        with contextlib.ExitStack() as stack:
            cluster = cluster_of(**counts, chief=1)
            places = [(kind, n) for kind, count in counts.items() for n in range(count)]
            others = {place: started(stack, cluster, *place) for place in places}
            for child in others.values():
                child.begin(serve)
            last = others["worker", counts["worker"] - 1].process.pid
            kill = functools.partial(kill_when, last)
            chief = started(stack, cluster, "chief", 0)
            chief.begin(fn, kill, *args)
            return chief.wait(fn.__name__, until)

    how = f"{counts['worker']} workers, {counts['ps']} servers"
    return run_or_recall(how, "tensorflow", fn, args, execute)

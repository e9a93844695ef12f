"""TensorFlow on several processes: workers that train together, and servers with workers."""

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
from gpulearn_lessons.frameworks.processes import Child, Done, told

__all__ = ["run_with_servers", "run_workers"]


def free_ports(count: int) -> list[int]:
    """Ports of this computer that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]


def cluster_of(**counts: int) -> dict[str, list[str]]:
    """Addresses of so many processes of each kind, as TF_CONFIG holds them."""
    ports = iter(free_ports(sum(counts.values())))
    return {kind: [f"localhost:{next(ports)}" for _ in range(n)] for kind, n in counts.items()}


def started(
    stack: contextlib.ExitStack, cluster: Mapping[str, list[str]], kind: str, index: int
) -> Child:
    """A process that knows its place in a cluster, and is ended with the stack."""
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


def run_workers(workers: int, fn: Callable[..., Any], *args: Any, timeout: float = 300.0) -> Any:
    """Run a function in several TensorFlow processes that know of each other by TF_CONFIG.

    Args:
        workers: how many; worker 0 is the chief.
        fn: what each runs.
        args: its arguments, as for `run`.
        timeout: seconds that all may take.

    Returns:
        What each returned, in order.

    Raises:
        BadInput: `workers` is no whole number above zero.
        MissingPackage: TensorFlow is not installed, and this was not recorded as it stands.
        RankError: a worker failed.
    """
    count = require.whole("workers", workers)

    def carry_out() -> Done:
        until = time.monotonic() + timeout
        with contextlib.ExitStack() as stack:
            cluster = cluster_of(worker=count)
            all_of_them = [started(stack, cluster, "worker", n) for n in range(count)]
            for one in all_of_them:
                one.begin(fn, *args)
            done = [one.wait(fn.__name__, until) for one in all_of_them]
        return Done(f"[{', '.join(one.result for one in done)}]", done[0].printed)

    return told(f"{count} workers", "tensorflow", fn, args, carry_out)


def run_with_servers(
    workers: int, servers: int, fn: Callable[..., Any], *args: Any, timeout: float = 300.0
) -> Any:
    """Run a function as coordinator of parameter servers and workers, which are processes.

    Args:
        workers: how many compute.
        servers: how many hold variables.
        fn: what the coordinator runs; its first argument is a function that waits until a
            condition holds, and then kills the last worker by SIGKILL.
        args: its other arguments, as for `run`.
        timeout: seconds that all may take.

    Returns:
        What the coordinator returned.

    Raises:
        BadInput: a number of processes is no whole number above zero.
        MissingPackage: TensorFlow is not installed, and this was not recorded as it stands.
        RankError: the coordinator failed.
    """
    counts = {"worker": require.whole("workers", workers), "ps": require.whole("servers", servers)}

    def carry_out() -> Done:
        until = time.monotonic() + timeout
        with contextlib.ExitStack() as stack:
            cluster = cluster_of(**counts, chief=1)
            places = [(kind, n) for kind, count in counts.items() for n in range(count)]
            others = {place: started(stack, cluster, *place) for place in places}
            for one in others.values():
                one.begin(serve)
            last = others["worker", counts["worker"] - 1].process.pid
            kill = functools.partial(kill_when, last)
            chief = started(stack, cluster, "chief", 0)
            chief.begin(fn, kill, *args)
            return chief.wait(fn.__name__, until)

    how = f"{counts['worker']} workers, {counts['ps']} servers"
    return told(how, "tensorflow", fn, args, carry_out)

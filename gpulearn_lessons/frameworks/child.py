"""The program of a separate TensorFlow or JAX process: it runs calls, one after another.

`python -m gpulearn_lessons.frameworks.child tensorflow 2 FD` prepares two logical CPUs and then
runs what arrives on the connection FD. It ends when the other end is closed, even in a call.
"""

import contextlib
import io
import json
import os
import queue
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from simt.device.selection import release_data


def prepare(framework: str, devices: int) -> None:
    """Divide this CPU into that many devices; for JAX the environment does it."""
    if framework == "tensorflow" and devices > 1:
        import tensorflow as tf

        cpu = tf.config.list_physical_devices("CPU")[0]
        each = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [each] * devices)


def serve() -> None:
    """Serve as the worker or server that TF_CONFIG names, until the process is killed."""
    import tensorflow as tf

    place = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    tf.distribute.Server(
        place.cluster_spec(), job_name=place.task_type, task_index=place.task_id, protocol="grpc"
    ).join()


def as_json(value: Any) -> Any:
    """Arrays and numbers of a framework as Python's own."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__array__"):
        return value.__array__().tolist()
    raise TypeError(
        f"it returns an object of type {type(value).__name__}: return numbers, lists and strings"
    )


def outcome(packed: bytes) -> dict[str, Any]:
    """Run one call: what it returned and printed, or what it raised."""
    from cloudpickle import cloudpickle

    printed = io.StringIO()
    try:
        function, args = cloudpickle.loads(packed)
        with contextlib.redirect_stdout(printed):
            result = json.dumps(function(*args), default=as_json)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return {"message": message, "traceback": traceback.format_exc()}
    return {"result": result, "printed": printed.getvalue()}


def main(framework: str, devices: int, descriptor: int) -> None:
    """Run calls until the other end is closed."""
    release_data()  # which may begin while an answer is held to little
    link = Connection(descriptor)
    calls: queue.Queue[bytes] = queue.Queue()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                calls.put(link.recv_bytes())
        os._exit(0)  # the main thread may be in a call that never ends

    threading.Thread(target=listen, daemon=True).start()
    prepare(framework, devices)
    while True:
        link.send(outcome(calls.get()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

"""Copies: between the host's memory and the device's, and within the device's, on a stream.

What CUDA says of them ("API synchronization behavior", CUDA Driver API): a copy from or to pinned
memory on a stream does not wait. One from pageable memory may return once its bytes have been
staged, before they have reached the device. One to pageable memory returns when it is complete
where no stream is named, and "might" where one is; numba's programs rely on that, since
`copy_to_host()` makes a pageable array, so that here it does. Where no stream is named, a copy
between host and device waits, on the default stream; one within the device does not.
"""

from typing import Any

import numpy as np

from simt.core.places import Place, place
from simt.host.work.order import Task
from simt.host.work.pinned import HostMemory
from simt.host.work.queue import work_queue
from simt.host.work.ranges import Access, of_array

Array = np.ndarray[Any, Any]
# what kernels wrote and nobody has read since, by the number of the allocation: where, and what
unread: dict[int, tuple[str, int | None, str, str]] = {}


def _device_name(where: Place, owner: Any, host: str = "") -> str:
    return where.name_of(owner, owner.gpu_data) or where.assigned or host


def copy_in(part: Array, value: Any, stream: Any, owner: Any) -> None:
    """Copies a host array or a number to `part` of the device array `owner`."""
    if work_queue.direct(stream):
        part[...] = value
        owner.gpu_data.written = None
        return
    source = np.asarray(value)
    host = HostMemory(source)
    staged = host.array if host.pinned else source.copy()

    def action(_: Task) -> None:
        part[...] = staged
        owner.gpu_data.written = None

    where = place()
    host_name = where.name_of(value, source, source.base)
    name = _device_name(where, owner, host_name)
    accesses = [Access(name, "store", of_array(part), part)]
    if host.pinned:
        accesses.append(Access(host_name, "load", of_array(source), host.array))
    work_queue.issue(
        "copy-in", stream, action, accesses=accesses, host=host, name=name, size=part.nbytes,
        waits=not stream, staged=not host.pinned, where=where,
    )  # fmt: skip


def copy_out(target: Array, part: Array, stream: Any, owner: Any) -> None:
    """Copies `part` of the device array `owner` to a host array."""
    unread.pop(owner.gpu_data.number, None)
    if work_queue.direct(stream):
        target[...] = part
        return
    host = HostMemory(np.asarray(target))

    def action(_: Task) -> None:
        host.array[...] = part

    where = place()
    name = _device_name(where, owner)
    accesses = [Access(name, "load", of_array(part), part)]
    if host.pinned:
        host_name = where.name_of(target, target.base)
        accesses.append(Access(host_name, "store", of_array(host.array), host.array))
    work_queue.issue(
        "copy-out", stream, action, accesses=accesses, host=host, name=name, size=part.nbytes,
        waits=not (stream and host.pinned), where=where,
    )  # fmt: skip


def copy_on_device(
    part: Array, source: Array, stream: Any, owner: Any, other: Any, *, waits: bool = False
) -> None:
    """Copies `source`, of the device array `other`, to `part` of the device array `owner`."""
    unread.pop(other.gpu_data.number, None)
    if work_queue.direct(stream):
        part[...] = source
        owner.gpu_data.written = None
        return

    def action(_: Task) -> None:
        part[...] = source
        owner.gpu_data.written = None

    where = place()
    name, other_name = _device_name(where, owner), where.name_of(other, other.gpu_data)
    accesses = [
        Access(name, "store", of_array(part), part),
        Access(other_name, "load", of_array(source), source),
    ]
    work_queue.issue(
        "copy-on-device", stream, action, accesses=accesses, name=name, size=part.nbytes,
        waits=waits, where=where,
    )  # fmt: skip

"""Arguments: from what a launch is given to the values of a kernel, and back after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.memory import Allocation, Record, View
from gpulearn.simt.core.values import cast
from gpulearn.simt.host.device_array import (
    DeviceNDArray,
    MappedNDArray,
    device_copy,
    from_interface,
    host_array,
)

__all__ = ["In", "InOut", "Marshalled", "Out", "marshal"]


class _Direction:
    """How a host array travels: in, out or both ways."""

    copy_in = True
    copy_out = True

    def __init__(self, value: Any) -> None:
        self.value = value


class In(_Direction):
    """A host array that a kernel only reads."""

    copy_out = False


class Out(_Direction):
    """A host array that a kernel only writes."""


class InOut(_Direction):
    """A host array that a kernel reads and writes."""


@dataclass
class Marshalled:
    """The arguments as the machine takes them, and what must be done afterwards."""

    values: tuple[Any, ...] = ()
    back: list[Callable[[], object]] = field(default_factory=list)
    copied: list[tuple[str, int]] = field(default_factory=list)

    def copy_back(self) -> None:
        """Gives arrays from elsewhere what the kernel left in their copies."""
        for give in self.back:
            give()


def marshal(
    names: list[str], args: tuple[Any, ...], kernel: str, types: list[Any] | None = None
) -> Marshalled:
    """Prepares arguments; `types` are dtypes that a signature fixes for numbers (or None).

    Raises:
        Stop: if an argument is nothing that a kernel can take.
    """
    if len(args) != len(names):
        need = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
        message = f"{kernel} takes {need}, {len(args)} given"
        raise Stop(Finding("not-a-kernel", None, message))
    if types is not None and len(types) != len(names):
        message = f"{kernel} takes {len(names)} arguments, and its signature has {len(types)}"
        raise Stop(Finding("not-a-kernel", None, message))
    made = Marshalled()
    values = []
    for position, (name, arg) in enumerate(zip(names, args, strict=True)):
        value = _one(made, name, arg)
        dtype = types[position] if types else None
        if dtype is not None and not isinstance(value, View | tuple | Record):
            value = cast(value, dtype)
        values.append(value)
    made.values = tuple(values)
    return made


def _on_a_gpu(made: Marshalled, arg: Any) -> DeviceNDArray | None:
    """A copy of an array that lies on a real GPU: numba.cuda's, or a torch tensor."""
    family = type(arg).__module__.partition(".")[0]
    if family == "numba" and hasattr(arg, "copy_to_host"):
        device = device_copy(np.asarray(arg.copy_to_host()))
        made.back.append(lambda: arg.copy_to_device(device._array))
        return device
    if family == "torch" and getattr(arg, "is_cuda", False):
        import torch

        device = device_copy(arg.detach().cpu().numpy())
        made.back.append(lambda: arg.detach().copy_(torch.from_numpy(device._array)))
        return device
    return None


def _one(made: Marshalled, name: str, arg: Any) -> Any:
    direction = arg if isinstance(arg, _Direction) else None
    if direction is not None:
        arg = direction.value
    if isinstance(arg, DeviceNDArray):
        return arg.as_view(name)
    if isinstance(arg, MappedNDArray):
        plain = np.asarray(arg)
        allocation = Allocation("global", plain.reshape(-1).view(np.uint8))
        return DeviceNDArray(plain, allocation).as_view(name)
    elsewhere = _on_a_gpu(made, arg)
    if elsewhere is not None:
        return elsewhere.as_view(name)
    if hasattr(arg, "__cuda_array_interface__"):
        return from_interface(arg.__cuda_array_interface__).as_view(name)
    host = host_array(arg)
    if host is not None:
        if host.ndim == 0 and type(arg) is np.ndarray and host.dtype.kind == "V":
            host = host.reshape(1)
        if host.dtype.kind not in "biufcV" or not host.dtype.isnative:
            message = f"{name} is an array of {host.dtype}, which a kernel cannot hold"
            raise Stop(Finding("not-a-kernel", None, message, array=name))
        device = device_copy(host)
        if (direction is None or direction.copy_out) and host.flags.writeable:
            made.back.append(lambda: np.copyto(host, device._array))
        view = device.as_view(name)
        view.allocation.frozen = not host.flags.writeable
        if direction is None:
            made.copied.append((name, host.nbytes))
        return view
    if type(arg) is int and -(1 << 63) <= arg < 1 << 64:
        return arg if arg < 1 << 63 else np.uint64(arg)
    if isinstance(arg, np.void):
        copy = np.array([arg])
        allocation = Allocation("global", copy.view(np.uint8))
        view = View(allocation, copy.dtype, (1,), copy.strides, 0, name)
        return Record(view, (0,))
    if type(arg) in (bool, float, complex):
        return arg
    if isinstance(arg, np.generic) and arg.dtype.kind in "biufc":
        return cast(arg, arg.dtype)
    if isinstance(arg, tuple):
        items = [_one(made, f"{name}[{i}]", a) for i, a in enumerate(arg)]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    if isinstance(arg, int) and hasattr(arg, "value"):  # an IntEnum's member
        return int(arg)
    message = f"{name} is a {type(arg).__name__}; a kernel takes arrays, numbers and tuples"
    raise Stop(Finding("not-a-kernel", None, message))

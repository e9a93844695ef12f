"""Arguments: from what a launch is given to the values of a kernel, and back after it."""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.memory import Allocation, Record, View, no_strings
from simt.core.registry import converter
from simt.core.values import cast
from simt.errors import BadInput
from simt.frontend.numba_errors import caught_as
from simt.host.device_array import (
    NUMBERS,
    DeviceNDArray,
    MappedNDArray,
    device_copy,
    from_interface,
)

ALTERNATIVES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((str, bytes), "pass codes that stand for the text, such as np.frombuffer(…, np.uint8)"),
    ((list, range), "pass np.array({0}), or a tuple of its numbers"),
    ((set, frozenset), "pass np.array(list({0}))"),
    ((dict,), "pass np.array(list({0}.values())), or what the kernel needs of it"),
    ((type(None),), "always pass an array or a number, and a flag that says whether to use it"),
    (
        (FunctionType,),
        "name the function in the kernel, and decorate it with @cuda.jit(device=True)",
    ),
)
PARTS_HINT = "pass its parts one by one"


class _Direction:
    """How a host array travels: in, out or both ways."""

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
class LaunchArguments:
    """The arguments as the machine takes them, and what must be done afterwards."""

    values: tuple[Any, ...] = ()
    typed: tuple[Any, ...] = ()  # the same as Numba types them: enum members as they are
    back: list[Callable[[], object]] = field(default_factory=list)
    copied: list[tuple[str, int]] = field(default_factory=list)
    hosts: list[np.ndarray[Any, Any]] = field(default_factory=list)  # that get results back

    def copy_back(self) -> None:
        """Gives arrays from elsewhere what the kernel left in their copies."""
        for give in self.back:
            give()

    def copies(self) -> list[Finding]:
        """A warning for each array that went to the device and back for this launch alone."""
        findings = []
        for name, size in self.copied:
            message = (
                f"{name} is a host array: {size:,} bytes go to the device and back at every "
                f"launch; copy once: cuda.to_device({name})"
            )
            findings.append(Finding("implicit-copy", None, message, array=name))
        return findings


def host_array(thing: Any) -> np.ndarray[Any, Any] | None:
    """The NumPy array behind an argument from the host: an array or a torch CPU tensor."""
    if isinstance(thing, np.ndarray):
        return thing
    if type(thing).__module__.partition(".")[0] == "torch" and hasattr(thing, "detach"):
        if thing.requires_grad:
            raise BadInput("a tensor that requires grad cannot go to a kernel: pass x.detach()")
        if thing.device.type != "cpu":
            raise BadInput(f"a tensor on {thing.device} cannot go to the SIMT machine")
        array: np.ndarray[Any, Any] = thing.numpy()
        return array
    return None


@converter
def _foreign(thing: Any) -> DeviceNDArray | None:
    """An array of another library's that lies in the machine's memory, by a global name."""
    ours = isinstance(thing, DeviceNDArray | MappedNDArray)
    interface = None if ours else getattr(thing, "__cuda_array_interface__", None)
    return from_interface(interface) if isinstance(interface, dict) else None


def marshal(
    names: list[str], args: Sequence[Any], kernel: str, extensions: Sequence[Any] = (),
    named: Sequence[str] = (),
) -> LaunchArguments:  # fmt: skip
    """Prepares arguments; each extension may substitute something for one."""
    if named:
        message = (
            f"{kernel} takes its arguments by position only: write "
            f"{kernel}[blocks, threads]({', '.join(names)}), without {named[0]}="
        )
        raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))
    if len(args) != len(names):
        need = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
        message = f"{kernel} takes {need}, {len(args)} given"
        raise Stop(Finding("not-a-kernel", None, message, errors=(TypeError,)))
    result = LaunchArguments()
    for extension in reversed(extensions):
        pairs = [extension.prepare_args(None, a, stream=0, retr=result.back) for a in args]
        args = tuple(arg for _, arg in pairs)
    result.values = tuple(_value(result, name, arg) for name, arg in zip(names, args, strict=True))
    result.typed = tuple(_typed(arg, value) for arg, value in zip(args, result.values, strict=True))
    return result


def _typed(arg: Any, value: Any) -> Any:
    _, arg = _unwrap(arg)
    if isinstance(arg, enum.Enum):
        return arg
    if isinstance(value, tuple):
        parts = [_typed(a, v) for a, v in zip(arg, value, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _on_a_gpu(marshalled: LaunchArguments, arg: Any) -> DeviceNDArray | None:
    """A copy of an array that lies on a real GPU: numba.cuda's, or a torch tensor."""
    family = type(arg).__module__.partition(".")[0]
    if family == "numba" and hasattr(arg, "copy_to_host"):
        device = device_copy(np.asarray(arg.copy_to_host()))
        marshalled.back.append(lambda: arg.copy_to_device(device._array))
        return device
    if family == "torch" and getattr(arg, "is_cuda", False):
        import torch

        device = device_copy(arg.detach().cpu().numpy())
        marshalled.back.append(lambda: arg.detach().copy_(torch.from_numpy(device._array)))
        return device
    return None


def _unwrap(arg: Any) -> tuple[_Direction | None, Any]:
    """The direction of an argument, if it has one, and itself; Numba has such classes too."""
    if type(arg).__module__ == "numba.cuda.args":
        arg = {"In": In, "Out": Out}.get(type(arg).__name__, InOut)(arg.value)
    return (arg, arg.value) if isinstance(arg, _Direction) else (None, arg)


def _unsupported_dtype(name: str, dtype: np.dtype[Any]) -> Finding:
    """The finding that a kernel takes no array of these elements, and what to use instead."""
    if dtype.kind in "SU":
        return Finding("unsupported", None, no_strings(name, dtype), array=name)
    message = f"{name} is an array of {dtype}, which a kernel cannot hold"
    if dtype.kind == "O":
        message += ": a GPU thread has no Python objects; pass an array of numbers"
    elif not dtype.isnative:
        message += f": pass {name}.astype({name}.dtype.newbyteorder('='))"
    return Finding("not-a-kernel", None, message, array=name)


def _value(marshalled: LaunchArguments, name: str, arg: Any) -> Any:
    direction, arg = _unwrap(arg)
    if isinstance(arg, DeviceNDArray):
        return arg.as_view(name)
    if isinstance(arg, MappedNDArray):
        whole = plain = np.asarray(arg)
        while isinstance(whole.base, np.ndarray):  # of which the argument may be a part
            whole = whole.base
        allocation = Allocation("global", np.asarray(whole).ravel("K").view(np.uint8))
        return DeviceNDArray.over(plain, allocation).as_view(name)
    on_gpu = _on_a_gpu(marshalled, arg)
    if on_gpu is not None:
        return on_gpu.as_view(name)
    if hasattr(arg, "__cuda_array_interface__"):
        return from_interface(arg.__cuda_array_interface__).as_view(name)
    host = host_array(arg)
    if host is not None:
        if host.dtype.kind not in NUMBERS + "V" or not host.dtype.isnative:
            raise Stop(_unsupported_dtype(name, host.dtype))
        if not _one_piece(host):
            message = (
                f"{name} is not contiguous, its elements are not side by side, and is copied to "
                "the device in one piece: pass np.ascontiguousarray(...), or a slice of an "
                "array that is on the device"
            )
            raise Stop(Finding("not-a-kernel", None, message, array=name, errors=(ValueError,)))
        device = device_copy(host)
        if (direction is None or direction.copy_out) and host.flags.writeable:
            marshalled.back.append(lambda: np.copyto(host, device._array))
            marshalled.hosts.append(host)
        view = device.as_view(name)
        view.allocation.frozen = not host.flags.writeable
        if direction is None:
            marshalled.copied.append((name, host.nbytes))
        return view
    if isinstance(arg, enum.Enum):
        return _value(marshalled, name, arg.value)
    if type(arg) is int and -(1 << 63) <= arg < 1 << 64:
        return arg if arg < 1 << 63 else np.uint64(arg)
    if isinstance(arg, np.void):
        copy = np.array([arg])
        if direction is None or direction.copy_out:
            marshalled.back.append(lambda: _give_record(arg, copy[0]))
        allocation = Allocation("global", copy.view(np.uint8))
        view = View(allocation, copy.dtype, (1,), copy.strides, 0, name)
        return Record(view, (0,))
    if type(arg) in (bool, float, complex):
        return arg
    if isinstance(arg, np.generic) and arg.dtype.kind in NUMBERS:
        return cast(arg, arg.dtype)
    if isinstance(arg, tuple):
        items = [_value(marshalled, f"{name}[{i}]", a) for i, a in enumerate(arg)]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    advice = next((hint for kinds, hint in ALTERNATIVES if isinstance(arg, kinds)), PARTS_HINT)
    message = (
        f"{name} has the type {type(arg).__name__}; a kernel takes arrays, numbers and tuples: "
        f"{advice.format(name)}"
    )
    raise Stop(_untyped(message, arg))


def _one_piece(host: np.ndarray[Any, Any]) -> bool:
    """Whether the elements lie within as many bytes as they have, counted from the first."""
    if host.size == 0:
        return True
    steps = [step for step, n in zip(host.strides, host.shape, strict=True) if n > 1]
    span = sum(s * (n - 1) for s, n in zip(host.strides, host.shape, strict=True))
    return all(step >= 0 for step in steps) and span + host.itemsize <= host.nbytes


def _give_record(record: Any, copy: Any) -> None:
    for name in record.dtype.names:
        record[name] = copy[name]


def _untyped(message: str, arg: Any) -> Finding:
    """What is no argument: Numba has no type for it, or a launch has no way to hand it over."""
    builtin = isinstance(arg, str | bytes | list | set | slice | None)
    errors: tuple[type[Exception], ...] = (ValueError,)
    if builtin:
        errors = (NotImplementedError, *caught_as("TypingError"))
    return Finding("not-a-kernel", None, message, errors=errors)

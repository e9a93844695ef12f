"""Generated kernels: what `vectorize`, `guvectorize` and `reduce` share to write theirs."""

import importlib
import itertools
import linecache
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from simt.core.registry import python_function
from simt.device import numba_cuda
from simt.errors import BadCall, KernelError
from simt.frontend.numba_bridge import any_device, real_function
from simt.frontend.numba_errors import reason
from simt.host.arguments import host_array
from simt.host.device_array import DeviceNDArray, device_copy, from_interface
from simt.host.dispatcher import Kernel
from simt.wording import shown

THREADS = 128
_IDENTITIES = (None, 0, 1, "reorderable")
_serial = itertools.count(1)


def kernel_from(text: str, **names: Any) -> Kernel:
    """The kernel in a source text that knows `cuda` and `names`; `inspect` finds it again."""
    file = f"<simt kernel {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    api = importlib.import_module("simt.host.api")  # which imports this module
    scope: dict[str, Any] = {"cuda": api, **names}
    exec(compile(text, file, "exec"), scope)
    kernel = Kernel(scope["kernel"])
    assert kernel.source is not None  # read now: who clears `linecache` forgets the text
    return kernel


def device_function(function: Callable[..., Any]) -> Kernel:
    """A new device function each time: Numba caches types by function."""
    code = python_function(function) or function
    copy = FunctionType(
        code.__code__, code.__globals__, code.__name__, code.__defaults__, code.__closure__
    )
    return Kernel(copy, device=True)


def operand(thing: Any) -> DeviceNDArray | np.ndarray[Any, Any]:
    """An argument as an array, where it lies."""
    if isinstance(thing, DeviceNDArray):
        return thing
    array = host_array(thing)
    if array is None and hasattr(thing, "__cuda_array_interface__"):
        return from_interface(thing.__cuda_array_interface__)
    return np.asarray(thing) if array is None else array


def on_device(array: np.ndarray[Any, Any], stream: Any = 0) -> DeviceNDArray:
    """A copy of a host array on the device."""
    once = array[tuple(slice(None if step else 1) for step in array.strides)]
    if not (once.flags.c_contiguous or once.flags.f_contiguous):
        raise BadCall(
            f"an array of shape {array.shape} and strides {array.strides} does not lie in one "
            "piece, and Numba copies no other to the device: give np.ascontiguousarray(x)"
        )
    return device_copy(array, stream)


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters."""
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


def signatures(maker: str, declared: Any) -> list[tuple[list[Any], Any]]:
    """The types of the arguments and of the result of each signature."""
    numba_cuda.load()
    from numba.core import sigutils

    declared = [declared] if isinstance(declared, str) else declared
    if callable(declared) or not isinstance(declared, Iterable) or not (items := list(declared)):
        raise BadCall(
            f"{maker} needs a list of signatures, such as ['float32(float32)'], got "
            f"{shown(declared)}: for a GPU Numba compiles before the first call"
        )
    parsed = []
    for signature in items:
        try:
            arguments, result = sigutils.normalize_signature(signature)
        except TypeError:
            message = f"{maker}: {signature!r} is no signature: write 'float32(float32)'"
            raise BadCall(message) from None
        parsed.append((list(arguments), result))
    return parsed


def check_options(maker: str, target: str, identity: Any, cache: bool) -> None:
    """Checks what both decorators take."""
    if target != "cuda":
        raise BadCall(f"{maker} has target='cuda', got {shown(target)}: take numba.{maker}")
    if identity not in _IDENTITIES:
        raise BadCall(f"{maker}: identity is None, 0, 1 or 'reorderable', got {shown(identity)}")
    if cache:
        raise BadCall(f"{maker}: caching is not supported for target='cuda': leave cache= out")


def result_type(function: Callable[..., Any], arguments: list[Any]) -> Any:
    """The Numba type of what a function returns for arguments of these types."""
    cuda = numba_cuda.load()
    try:
        with any_device():
            device_function = cuda.jit(device=True)(real_function(function))
            return device_function.compile_device(tuple(arguments)).signature.return_type
    except Exception as error:
        finding = reason(function, error)
        if finding is None:
            raise
        raise KernelError(str(finding)) from None

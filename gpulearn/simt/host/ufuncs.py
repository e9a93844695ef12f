"""Ufuncs and reductions: `vectorize`, `guvectorize` and `reduce` write kernels for the caller."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from gpulearn.simt.core.registry import intrinsics
from gpulearn.simt.host.device_array import DeviceNDArray, device_copy, device_empty, host_array
from gpulearn.simt.host.dispatcher import Kernel, jit

__all__ = ["Reduce", "guvectorize", "vectorize"]

_serial = itertools.count(1)
THREADS = 128


def _kernel(text: str, **names: Any) -> Kernel:
    """A kernel from source text that `inspect` can find again."""
    file = f"<gpulearn kernel {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"grid": intrinsics()["grid"], **names}
    exec(compile(text, file, "exec"), scope)
    return Kernel(scope["kernel"])


def _plain(thing: Any) -> np.ndarray[Any, Any]:
    if isinstance(thing, DeviceNDArray):
        return thing._array
    found = host_array(thing)
    return np.asarray(thing) if found is None else found


def _signatures(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _parse(signature: Any) -> tuple[list[Any], Any]:
    """The types of the arguments and of the result of a signature."""
    from numba.core import sigutils

    arguments, result = sigutils.normalize_signature(signature)
    return list(arguments), result


def _numpy(numba_type: Any) -> np.dtype[Any]:
    from numba.np.numpy_support import as_dtype

    found: np.dtype[Any] = as_dtype(getattr(numba_type, "dtype", numba_type))
    return found


class _Vectorized:
    """A function of numbers, applied to arrays element by element."""

    def __init__(self, function: Callable[..., Any], signatures: list[Any]) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self._loops = []
        count = function.__code__.co_argcount
        for signature in signatures:
            arguments, result = _parse(signature)
            self._loops.append(([_numpy(a) for a in arguments], _numpy(result)))
        names = [f"a{i}" for i in range(count)]
        elements = ", ".join(f"{name}[i]" for name in names)
        text = (
            f"def kernel({', '.join(names)}, out):\n"
            "    i = grid(1)\n"
            "    if i < out.shape[0]:\n"
            f"        out[i] = core({elements})\n"
        )
        self._kernel = _kernel(text, core=jit(device=True)(function))

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """The result as a NumPy array, or on the device if any argument is there."""
        on_device = any(isinstance(a, DeviceNDArray) for a in args)
        arrays = [_plain(a) for a in args]
        types, result = self._choose(arrays)
        arrays = [a.astype(t) for a, t in zip(arrays, types, strict=True)]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        flat = [device_copy(np.broadcast_to(a, shape).reshape(-1)) for a in arrays]
        made = device_empty(math.prod(shape), result)
        if made.size:
            self._kernel[math.ceil(made.size / THREADS), THREADS](*flat, made)
        shaped = made.reshape(shape)
        if out is not None:
            _plain(out)[...] = shaped._array
            return out
        return shaped if on_device else shaped.copy_to_host()[()]

    def _choose(self, arrays: list[np.ndarray[Any, Any]]) -> Any:
        for types, result in self._loops:
            if all(np.can_cast(a.dtype, t) for a, t in zip(arrays, types, strict=True)):
                return types, result
        given = ", ".join(str(a.dtype) for a in arrays)
        raise BadInput(f"{self.__name__} has no signature for ({given})")


def vectorize(signatures: Any, **options: Any) -> Any:
    """`cuda.vectorize`: a function of numbers becomes one of arrays."""

    def decorate(function: Callable[..., Any]) -> _Vectorized:
        return _Vectorized(function, _signatures(signatures))

    return decorate


class _Generalized:
    """A function of small arrays, applied along the other dimensions."""

    def __init__(self, function: Callable[..., Any], signatures: list[Any], layout: str) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        inputs, _, outputs = layout.replace(" ", "").partition("->")
        self._inputs, self._outputs = _dimensions(inputs), _dimensions(outputs)
        self._types = [_numpy(a) for a in _parse(signatures[0])[0]]
        names = [f"a{i}" for i in range(len(self._inputs) + len(self._outputs))]
        elements = ", ".join(f"{name}[i]" for name in names)
        text = (
            f"def kernel({', '.join(names)}):\n"
            "    i = grid(1)\n"
            f"    if i < {names[-1]}.shape[0]:\n"
            f"        core({elements})\n"
        )
        self._kernel = _kernel(text, core=jit(device=True)(function))

    def __call__(self, *args: Any, stream: Any = 0, out: Any = None) -> Any:
        """The outputs as NumPy arrays, or on the device if any argument is there."""
        on_device = any(isinstance(a, DeviceNDArray) for a in args)
        arrays = [_plain(a) for a in args]
        given = arrays[: len(self._inputs)]
        sizes: dict[str, int] = {}
        for array, names in zip(given, self._inputs, strict=True):
            for name, n in zip(names, array.shape[array.ndim - len(names) :], strict=True):
                if sizes.setdefault(name, n) != n:
                    raise BadInput(f"{self.__name__}: dimension {name} is {sizes[name]} and {n}")
        outer = np.broadcast_shapes(
            *(a.shape[: a.ndim - len(n)] for a, n in zip(given, self._inputs, strict=True))
        )
        count = math.prod(outer)
        flat = []
        for array, names, dtype in zip(given, self._inputs, self._types, strict=False):
            core = tuple(sizes[n] for n in names)
            whole = np.broadcast_to(array.astype(dtype), outer + core)
            flat.append(device_copy(whole.reshape((count, *core))))
        results = []
        for names, dtype in zip(self._outputs, self._types[len(self._inputs) :], strict=False):
            core = tuple(sizes[n] for n in names)
            results.append(device_empty((count, *(core or (1,))), dtype))
        if count:
            self._kernel[math.ceil(count / THREADS), THREADS](*flat, *results)
        shaped: list[Any] = []
        for names, result in zip(self._outputs, results, strict=True):
            full = result.reshape(outer + tuple(sizes[n] for n in names))
            shaped.append(full if on_device else full.copy_to_host())
        for target, value in zip(arrays[len(self._inputs) :], shaped, strict=False):
            target[...] = _plain(value)
        return shaped[0] if len(shaped) == 1 else tuple(shaped)


def _dimensions(text: str) -> list[list[str]]:
    """Splits "(m,n),(n)" into [["m", "n"], ["n"]]."""
    groups = text.strip("()").split("),(")
    return [[name for name in group.split(",") if name] for group in groups]


def guvectorize(signatures: Any, layout: str, **options: Any) -> Any:
    """`cuda.guvectorize`: a function of small arrays becomes one of large ones."""

    def decorate(function: Callable[..., Any]) -> _Generalized:
        return _Generalized(function, _signatures(signatures), layout)

    return decorate


class Reduce:
    """`cuda.reduce`: folds an array with a function of two numbers.

    Each of up to 1,024 threads folds its share, then one thread folds their results.
    """

    _TEXT = (
        "def kernel(a, out):\n"
        "    i = grid(1)\n"
        "    n = out.shape[0]\n"
        "    if i < out.shape[0]:\n"
        "        total = a[i]\n"
        "        for k in range(i + n, a.shape[0], n):\n"
        "            total = core(total, a[k])\n"
        "        out[i] = total\n"
    )

    def __init__(self, functor: Callable[..., Any]) -> None:
        self._functor = functor
        self._kernel = _kernel(self._TEXT, core=jit(device=True)(functor))

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """The fold of the first `size` elements; in `res[0]` if that is given."""
        array = _plain(arr)
        if array.ndim != 1:
            raise TypeError(f"only 1-D arrays can be reduced, got {array.ndim} dimensions")
        array = array[: array.size if size is None else size]
        total = array.dtype.type(init)
        if array.size:
            data = device_copy(array)
            while data.size > 1:
                threads = 1 if data.size <= 32 else min(1024, -(-data.size // 8))
                partial = device_empty(threads, array.dtype)
                self._kernel[-(-threads // THREADS), min(THREADS, threads)](data, partial)
                data = partial
            total = array.dtype.type(self._functor(total, data.copy_to_host()[0]))
        if res is not None:
            _plain(res)[0] = total
            return None
        return total

"""Ufuncs: `vectorize` writes the kernel that applies a function of numbers to arrays."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from simt.errors import BadCall
from simt.host import generated
from simt.host.device_array import DeviceNDArray, device_copy, device_empty

Array = np.ndarray[Any, Any]


class Ufunc:
    """A function of numbers, applied to arrays element by element."""

    def __init__(self, function: Callable[..., Any], declared: list[tuple[list[Any], Any]]) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self._names = generated.parameters(function)
        self._loops = dict(self._loop(types, result) for types, result in declared)

    def _loop(self, arguments: list[Any], result: Any) -> tuple[Any, Any]:
        """The dtypes of the arguments; the dtype of the result and the kernel for them."""
        if len(arguments) != len(self._names):
            raise BadCall(
                f"{self.__name__} takes {len(self._names)} arguments ({', '.join(self._names)}), "
                f"and a signature has {len(arguments)}: give a type for each"
            )
        if result is None:
            result = generated.result_type(self.py_func, arguments)
        dtype = np.dtype(str(result))
        elements = ", ".join(f"{name}[_thread]" for name in self._names)
        kernel = generated.kernel_from(
            f"def kernel({', '.join(self._names)}, _out):\n"
            "    _thread = cuda.grid(1)\n"
            "    if _thread < _out.shape[0]:\n"
            f"        _out[_thread] = _result(_core({elements}))\n",
            _core=generated.device_function(self.py_func),
            _result=dtype.type,
        )
        return tuple(np.dtype(str(a)) for a in arguments), (dtype, kernel)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0, **unknown: Any) -> Any:
        """The result as a NumPy array, or on the device if any argument is there.

        Arrays must have the types of a signature, numbers are converted to them.

        Raises:
            BadCall: if no signature fits, or more than one; or shapes do not fit together.
        """
        if unknown:
            warnings.warn(f"unrecognized keywords: {', '.join(unknown)}", stacklevel=2)
        if len(args) != len(self._names):
            need = f"{len(self._names)} argument{'s' * (len(self._names) != 1)}"
            raise BadCall(
                f"{self.__name__} takes {need} ({', '.join(self._names)}), got {len(args)}"
            )
        numbers = int | float | complex | np.number
        arrays = [None if isinstance(a, numbers) else generated.operand(a) for a in args]
        out = None if out is None else generated.operand(out)
        types = self._choose(args, arrays)
        dtype, kernel = self._loops[types]
        operands = [
            np.array([a], t) if array is None else array
            for a, t, array in zip(args, types, arrays, strict=True)
        ]
        shape = self._shape(operands)
        size = math.prod(shape)
        inputs = [_flat(a, shape) for a in operands]
        output = _flat_output(self.__name__, out, shape, dtype)
        kernel.forall(size, generated.THREADS, stream)(*inputs, output)
        if out is not None and not isinstance(out, DeviceNDArray):
            return output.copy_to_host(out).reshape(shape)
        shaped = output.reshape(shape)
        stays = out is not None or any(isinstance(a, DeviceNDArray) for a in arrays)
        return shaped if stays else shaped.copy_to_host()

    def _choose(self, args: tuple[Any, ...], arrays: list[Any]) -> Any:
        """The signature with the arrays' types, and the numbers' if there is one."""
        pairs = zip(args, arrays, strict=True)
        exact = tuple(np.asarray(a).dtype if k is None else k.dtype for a, k in pairs)
        if exact in self._loops:
            return exact
        fitting = [
            types
            for types in self._loops
            if all(k is None or k.dtype == t for t, k in zip(types, arrays, strict=True))
        ]
        if len(fitting) == 1:
            return fitting[0]
        actual = ", ".join(map(str, exact))
        loops = " and ".join(f"({', '.join(map(str, types))})" for types in fitting or self._loops)
        if fitting:
            raise BadCall(
                f"{self.__name__}({actual}) fits the signatures {loops}: numbers alone do not "
                "say which; give a number its type, such as np.float32(x)"
            )
        raise BadCall(
            f"{self.__name__} has no signature for ({actual}), only {loops}: for a GPU Numba "
            f"converts numbers but no arrays; add a signature, or convert with x.astype(...)"
        )

    def _shape(self, operands: list[Any]) -> tuple[int, ...]:
        shapes = [a.shape for a in operands]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(map(str, shapes))
            raise BadCall(f"{self.__name__}: shapes {listed} do not broadcast together") from None
        for name, a in zip(self._names, operands, strict=True):
            if a.ndim < len(shape) and a.size > 1:
                raise BadCall(
                    f"{self.__name__}: {name} has shape {a.shape} and the result {shape}: for a "
                    f"GPU Numba would repeat the first element of {name} alone; write "
                    f"{name}[None], until it has {len(shape)} dimensions"
                )
        if not shape:
            raise BadCall(
                f"{self.__name__} is given arrays without dimensions only, which Numba cannot "
                "launch for: give a number, x[()], or one element, x.reshape(1)"
            )
        return shape

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Folds a 1-D array: halves onto halves, an odd last element at the end.

        As in Numba, an array on the device is overwritten on the way.

        Raises:
            BadCall: for a function of other than two arguments, an empty array, or one of more
                dimensions.
        """
        array = generated.operand(arg)
        if len(self._names) != 2:
            raise BadCall(f"{self.__name__}.reduce needs a function of 2 arguments")
        if array.ndim != 1 or array.size == 0:
            raise BadCall(
                f"{self.__name__}.reduce takes an array of one dimension with one element or "
                f"more, got shape {array.shape}"
            )
        data = array if isinstance(array, DeviceNDArray) else generated.on_device(array)
        return self._fold(data, stream)[0]

    def _fold(self, data: DeviceNDArray, stream: Any) -> DeviceNDArray:
        n = data.size
        if n == 1:
            return data
        if n % 2:
            folded: DeviceNDArray = self._fold(data[: n - 1], stream)[:1]
            self(folded, data[n - 1 :], out=folded, stream=stream)
            return folded
        half = data[: n // 2]
        self(half, data[n // 2 :], out=half, stream=stream)
        return self._fold(half, stream)


def _flat(array: DeviceNDArray | Array, shape: tuple[int, ...]) -> DeviceNDArray:
    """What the kernel reads of an operand: the shape of the result, in one dimension."""
    if not isinstance(array, DeviceNDArray):
        spread = np.broadcast_to(array, shape)
        return generated.on_device(spread if len(shape) == 1 else spread.ravel())
    whole = array.spread(shape)
    if whole.ndim == 1:
        return whole
    if whole.is_c_contiguous():
        return whole.ravel()
    return device_copy(whole.copy_to_host().ravel())


def _flat_output(
    name: str, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> DeviceNDArray:
    """What the kernel writes: new memory, or `out` itself if it lies on the device."""
    size = math.prod(shape)
    if out is None:
        return device_empty(size, dtype)
    if not isinstance(out, DeviceNDArray):
        if not isinstance(out, np.ndarray) or out.shape != (size,) or out.dtype != dtype:
            is_array = isinstance(out, np.ndarray)
            given = f"{out.dtype} {out.shape}" if is_array else type(out).__name__
            raise BadCall(
                f"{name}: an out= on the host must be a NumPy array of {dtype} with shape "
                f"{(size,)}, one dimension whatever the result has; got {given}"
            )
        return device_empty(size, dtype)
    if out.size != size:
        raise BadCall(f"{name}: the result has shape {shape}, and out has {out.shape}")
    if out.ndim > 1 and not out.is_c_contiguous():
        raise BadCall(
            f"{name}: out has shape {out.shape} and strides {out.strides}, and Numba would fill "
            "a copy of it: give an output whose rows lie one after the other"
        )
    return out.reshape(-1)


def vectorize(
    ftylist_or_function: Any = (), target: str = "cuda", *, identity: Any = None,
    cache: bool = False, **options: Any,
) -> Callable[[Callable[..., Any]], Ufunc]:  # fmt: skip
    """`cuda.vectorize`: a function of numbers becomes one of arrays, for declared signatures.

    Raises:
        BadCall: if a signature or an option is none that Numba has for a GPU.
        KeyError: for an option that does not exist.
    """
    declared = generated.signatures("vectorize", ftylist_or_function)
    generated.check_options("vectorize", target, identity, cache)
    for option in options:
        if option != "nopython":
            raise KeyError(f"Unrecognized options: vectorize for a GPU has no {option}=")
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=2)
    return lambda function: Ufunc(function, declared)

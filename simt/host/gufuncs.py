"""Generalized ufuncs: `guvectorize` applies a function of small arrays along loop dimensions."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from simt.errors import BadCall
from simt.host import generated
from simt.host.device_array import DeviceNDArray, device_empty
from simt.host.dispatcher import Kernel
from simt.wording import shown

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class Gufunc:
    """A function of small arrays, applied along the other dimensions."""

    def __init__(
        self, function: Callable[..., Any], declared: list[tuple[list[Any], Any]], layout: str
    ) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self.max_blocksize = 2**30
        self._inputs, self._outputs = _dimensions(layout)
        self._loops = {}
        for types, result in declared:
            if result is not None and str(result) != "none":
                raise BadCall(
                    "guvectorized functions cannot return values: the signature of "
                    f"{self.__name__} specifies {result} return type; write to the last argument"
                )
            self._check(types, layout)
            dtypes = [np.dtype(str(getattr(t, "dtype", t))) for t in types]
            count = len(self._inputs)
            self._loops[tuple(dtypes[:count])] = dtypes[count:], self._kernel(types)

    def _check(self, types: list[Any], layout: str) -> None:
        """Holds the types of a signature against the layout."""
        cores = self._inputs + self._outputs
        fits = len(types) == len(cores) == len(generated.parameters(self.py_func)) and all(
            getattr(t, "ndim", 0) in ((len(core),) if core else (0, 1))
            for t, core in zip(types, cores, strict=True)
        )
        if not fits:
            raise BadCall(
                f"{self.__name__}: the signature ({', '.join(map(str, types))}) does not fit the "
                f"layout {layout!r}, which needs as many dimensions for each argument"
            )

    def _kernel(self, types: list[Any]) -> Kernel:
        names = generated.parameters(self.py_func)
        cores = self._inputs + self._outputs
        parts = [
            f"{name}[_thread : _thread + 1]" if not core and hasattr(t, "ndim") else
            f"{name}[_thread]"
            for name, core, t in zip(names, cores, types, strict=True)
        ]  # fmt: skip
        text = (
            f"def kernel({', '.join(names)}):\n"
            "    _thread = cuda.grid(1)\n"
            f"    if _thread < {names[-1]}.shape[0]:\n"
            f"        _core({', '.join(parts)})\n"
        )
        return generated.kernel_from(text, _core=generated.device_function(self.py_func))

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0, **ignored: Any) -> Any:
        """The outputs as NumPy arrays, or on the device if any argument is there.

        Raises:
            BadCall: if the number of arguments, their types or their shapes do not fit.
        """
        arrays, outputs = self._split_arguments(args, out)
        loop, shapes = self._schedule([a.shape for a in arrays])
        types = self._choose(arrays)
        dtypes, kernel = self._loops[types]
        stays = any(isinstance(a, DeviceNDArray) for a in [*arrays, *outputs])
        for target, shape, dtype in zip(outputs, shapes, dtypes, strict=True):
            if target is not None and (target.shape, target.dtype) != (shape, dtype):
                raise BadCall(
                    f"{self.__name__}: output shape mismatch, or another type: the result is "
                    f"{dtype} {shape}, and out is {target.dtype} {target.shape}"
                )
        count = math.prod(loop)
        if count == 0:
            raise BadCall(f"{self.__name__}: the loop has shape {loop}, so nothing to launch for")
        inputs = [
            self._input(number, array, dtype, len(core), count)
            for number, (array, dtype, core) in enumerate(
                zip(arrays, types, self._inputs, strict=True), 1
            )
        ]
        buffers = [
            target if isinstance(target, DeviceNDArray) else device_empty(shape, dtype)
            for target, shape, dtype in zip(outputs, shapes, dtypes, strict=True)
        ]
        rows = [m.reshape((count, *s[len(loop) :])) for m, s in zip(buffers, shapes, strict=True)]
        kernel.forall(count, min(generated.THREADS, self.max_blocksize), stream)(*inputs, *rows)
        results: list[Any] = []
        for target, result in zip(outputs, buffers, strict=True):
            if isinstance(target, np.ndarray):
                results.append(result.copy_to_host(target))
            else:
                results.append(result if stays else result.copy_to_host())
        return results[0] if len(results) == 1 else tuple(results)

    def _split_arguments(self, args: tuple[Any, ...], out: Any) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs; None for an output that is to be made."""
        inputs, outputs = len(self._inputs), len(self._outputs)
        if out is not None:
            if len(args) > inputs:
                raise BadCall("cannot specify argument 'out' as both positional and keyword")
            if outputs > 1:
                raise BadCall(
                    f"{self.__name__} has {outputs} outputs, and out= stands for one: give them "
                    "by position, after the inputs"
                )
            args = (*args, out)
        if len(args) not in (inputs, inputs + outputs):
            raise BadCall(
                f"This gufunc accepts {_arguments(inputs)} (inputs), or "
                f"{_arguments(inputs + outputs)} (inputs and outputs). Got "
                f"{_arguments(len(args))}."
            )
        arrays: list[Any] = [generated.operand(a) for a in args]
        return arrays[:inputs], arrays[inputs:] or [None] * outputs

    def _choose(self, arrays: list[Any]) -> Any:
        """The signature with the inputs' types, else the first to which Numba converts them.

        Numba asks whether the declared type fits into the given one: it narrows and never widens.
        """
        exact = tuple(a.dtype for a in arrays)
        if exact in self._loops:
            return exact
        for types in self._loops:
            if all(map(np.can_cast, types, exact)):
                return types
        accepted = " and ".join(f"({', '.join(map(str, types))})" for types in self._loops)
        raise BadCall(
            f"{self.__name__}: no matching signature for ({', '.join(map(str, exact))}), only "
            f"{accepted}: for a GPU Numba converts to narrower types only; write x.astype(...)"
        )

    def _schedule(self, input_shapes: list[Shape]) -> tuple[Shape, list[Shape]]:
        """The shape of the loop, and the shapes of the outputs."""
        sizes: dict[str, int] = {}
        loops = []
        for number, (shape, names) in enumerate(zip(input_shapes, self._inputs, strict=True), 1):
            depth = len(shape) - len(names)
            if depth < 0:
                raise BadCall(
                    f"{self.__name__}: input {number} has shape {shape}, and its layout "
                    f"({','.join(names)}) needs {len(names)} dimensions or more"
                )
            for name, n in zip(names, shape[depth:], strict=True):
                if sizes.setdefault(name, n) != n:
                    raise BadCall(
                        f"{self.__name__}: dimension {name} is {sizes[name]} before, and {n} in "
                        f"input {number} of shape {shape}"
                    )
            loops.append(shape[:depth])
        loop = max(loops, key=math.prod)
        for number, other in enumerate(loops, 1):
            if other not in (loop, (1,), ()):
                raise BadCall(
                    f"{self.__name__}: the loop has shape {loop}, and input {number} has {other}: "
                    "for a GPU Numba repeats only what has no loop dimensions"
                )
        return loop, [loop + tuple(sizes[n] for n in names) for names in self._outputs]

    def _input(
        self, number: int, array: DeviceNDArray | Array, dtype: np.dtype[Any], depth: int,
        count: int,
    ) -> DeviceNDArray:  # fmt: skip
        """An input with one loop dimension of `count` elements."""
        if not isinstance(array, DeviceNDArray):
            array = generated.on_device(array.astype(dtype, copy=False))
        elif array.dtype != dtype:
            raise BadCall(
                f"{self.__name__}: input {number} is {array.dtype} on the device, and the "
                f"signature has {dtype}: a device array does not support .astype(), convert it "
                "on the host"
            )
        core = array.shape[array.ndim - depth :]
        if array.ndim == depth or (depth == 0 and array.size == 1):
            return array.reshape(core).spread((count, *core))
        if array.size != count * math.prod(core):
            raise BadCall(
                f"{self.__name__}: input {number} of shape {array.shape} is not repeated "
                f"{count} times: for a GPU Numba does that without its first dimension, x[0]"
            )
        try:
            return array.reshape((count, *core))
        except NotImplementedError:
            raise BadCall(
                f"{self.__name__}: input {number} has shape {array.shape} and strides "
                f"{array.strides}: its loop dimensions become one only where rows lie one after "
                "the other; give np.ascontiguousarray(x)"
            ) from None


def _arguments(count: int) -> str:
    return f"{count} positional argument{'s' * (count != 1)}"


def _dimensions(layout: str) -> tuple[list[list[str]], list[list[str]]]:
    """Splits "(m,n),(n)->(m)" into [["m", "n"], ["n"]] and [["m"]]."""
    group = r"\((?:[^\W\d]\w*(?:,[^\W\d]\w*)*)?,?\)"
    text = re.sub(r"\s", "", layout)
    if not re.fullmatch(rf"{group}(?:,{group})*->{group}(?:,{group})*", text):
        raise BadCall(f"guvectorize: {layout!r} is no layout: write such as '(m,n),(n)->(m)'")
    inputs, outputs = (
        [re.findall(r"\w+", dims) for dims in re.findall(group, side)] for side in text.split("->")
    )
    dimensions = {name for names in inputs for name in names}
    for name in (name for names in outputs for name in names):
        if name not in dimensions:
            raise BadCall(
                f"guvectorize: {layout!r} has the dimension {name} in an output and in no input: "
                "nothing says how long it is"
            )
    return inputs, outputs


def guvectorize(
    *args: Any, target: str = "cuda", identity: Any = None, cache: bool = False,
    writable_args: Any = (), nopython: bool = True, **options: Any,
) -> Callable[[Callable[..., Any]], Gufunc]:  # fmt: skip
    """`cuda.guvectorize(signatures, layout)`: a function of small arrays becomes one of large ones.

    Raises:
        BadCall: if a signature, the layout or an option is none that Numba has for a GPU.
    """
    if len(args) != 2:
        raise BadCall(
            "guvectorize for a GPU takes signatures and a layout, such as "
            f"guvectorize(['void(float32[:], float32[:])'], '(n)->(n)'), got {shown(args)}"
        )
    declared, layout = generated.signatures("guvectorize", args[0]), args[1]
    generated.check_options("guvectorize", target, identity, cache)
    if writable_args:
        raise BadCall("guvectorize: writable_args are not supported for target='cuda'")
    if not nopython:
        raise BadCall("nopython flag must be True")
    if options:
        names = ", ".join(map(repr, options))
        raise BadCall(f"The following target options are not supported: {names}")
    return lambda function: Gufunc(function, declared, layout)

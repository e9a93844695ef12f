"""Type check: Numba is the judge of what is a kernel.

Before a kernel runs with new argument types, Numba's own CUDA type inference sees it. What
Numba refuses, the machine refuses, with Numba's reason; what Numba fixed as the type of a
variable, the machine uses. Neither needs a GPU. If Numba's internals have moved, that is
said once, and the machine goes on without the verdict.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.memory import Record, View
from gpulearn.simt.frontend.dataflow import CHOSEN, RETURNED, Types
from gpulearn.simt.frontend.numba_bridge import real_device_function, type_annotation
from gpulearn.simt.frontend.numba_errors import NEW_ARRAY, in_words, reason

__all__ = ["device_types", "judge", "numba_type", "number_dtypes"]

_verdicts: dict[tuple[Any, ...], tuple[Finding | None, Types]] = {}
_said: list[str] = []


def judge(
    function: Callable[..., Any], values: tuple[Any, ...], signature: Any = None
) -> tuple[Any, Types]:
    """A key for these argument types, and the dtypes of the kernel's variables.

    Raises:
        Stop: with the finding `not-a-kernel` if Numba refuses the kernel.
    """
    try:
        arguments = _signature_types(signature)
        if arguments is None:
            arguments = tuple(numba_type(v) for v in values)
        else:
            _check_arrays(function, arguments, values)
    except _Moved as moved:
        _give_up(moved)
        return "any", {}
    key = (function, arguments)
    if key not in _verdicts:
        if len(_verdicts) > 1024:
            _verdicts.clear()
        _verdicts[key] = _ask(function, arguments)
    finding, variables = _verdicts[key]
    if finding is not None:
        raise Stop(Finding(finding.kind, finding.line, finding.message))
    return arguments, variables


class _Moved(Exception):  # noqa: N818 - says what happened
    """Something of Numba's is not where it used to be."""


def _give_up(reason: BaseException) -> None:
    if not _said:
        _said.append(str(reason))
        warnings.warn(
            f"kernels run without Numba's type check: {reason}", RuntimeWarning, stacklevel=5
        )


# --- types


def numba_type(value: Any) -> Any:
    """The Numba type of an argument as the machine holds it."""
    try:
        from numba import typeof, types
        from numba.np.numpy_support import from_dtype
    except ImportError as error:
        raise _Moved(error) from None
    if isinstance(value, View | Record):
        view = value if isinstance(value, View) else value.view
        try:
            element = from_dtype(view.dtype)
        except NotImplementedError:
            message = f"{view.name} holds {view.dtype}, which a kernel cannot hold"
            raise Stop(Finding("not-a-kernel", None, message, array=view.name)) from None
        if value is not view:
            return element
        frozen = view.allocation.frozen
        return types.Array(element, view.ndim, _layout(view), readonly=frozen)
    if isinstance(value, tuple):
        items = tuple(numba_type(v) for v in value)
        if hasattr(value, "_fields"):
            return (
                types.NamedTuple(items, type(value))
                if len(set(items)) != 1
                else (types.NamedUniTuple(items[0], len(items), type(value)))
            )
        return types.Tuple(items)
    try:
        found = typeof(value)
    except ValueError as error:
        raise Stop(Finding("not-a-kernel", None, str(error).splitlines()[0])) from None
    return types.unliteral(found)


def _layout(view: View) -> str:
    if any(type(n) is int and n == 0 for n in view.shape):
        return "C"
    size = view.dtype.itemsize
    c = f = size
    is_c = is_f = True
    for n, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        is_c = is_c and (stride == c or n == 1)
        c *= n
    for n, stride in zip(view.shape, view.strides, strict=True):
        is_f = is_f and (stride == f or n == 1)
        f *= n
    return "C" if is_c else "F" if is_f else "A"


def _signature_types(signature: Any) -> tuple[Any, ...] | None:
    if signature is None:
        return None
    try:
        from numba.core import sigutils

        arguments, _ = sigutils.normalize_signature(signature)
    except ImportError as error:
        raise _Moved(error) from None
    except TypeError:
        return None
    return tuple(arguments)


def _check_arrays(
    function: Callable[..., Any], wanted: tuple[Any, ...], values: tuple[Any, ...]
) -> None:
    """Numbers are converted to what a signature says; arrays have to be it.

    Raises:
        Stop: with the finding `not-a-kernel` if an array is of another type.
    """
    names = function.__code__.co_varnames
    for name, want, value in zip(names, wanted, values, strict=False):
        given = numba_type(value)
        arrays = [hasattr(kind, "ndim") and hasattr(kind, "layout") for kind in (want, given)]
        same = arrays[0] == arrays[1]
        if all(arrays):
            packed = want.layout == "A" or given.layout != "A"
            same = packed and (want.dtype, want.ndim) == (given.dtype, given.ndim)
        if not same:
            message = (
                f"the signature of {function.__name__} says that {name} is {in_words(str(want))}, "
                f"and it is given {in_words(str(given))}: without a signature it takes what comes"
            )
            raise Stop(Finding("not-a-kernel", None, message, array=name))


def number_dtypes(signature: Any) -> list[np.dtype[Any] | None] | None:
    """For each argument of a signature, the dtype of a number; None for anything else."""
    try:
        arguments = _signature_types(signature)
    except _Moved:
        return None
    return None if arguments is None else [_dtype(a) for a in arguments]


def _kind(numba_type: Any) -> Any:
    """The dtype of a number, a tuple of dtypes for a tuple of numbers, None for the rest."""
    from numba import types

    if isinstance(numba_type, types.BaseTuple):
        kinds = tuple(_kind(t) for t in numba_type.types)
        return None if any(k is None for k in kinds) else kinds
    return _dtype(numba_type)


def _dtype(numba_type: Any) -> np.dtype[Any] | None:
    from numba import types

    if isinstance(numba_type, types.Boolean | types.Integer | types.Float | types.Complex):
        return np.dtype(str(types.unliteral(numba_type)).replace("bool", "bool_"))
    return None


# --- the verdict


def _ask(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Finding | None, Types]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            annotation = type_annotation(function, arguments)
    except ImportError as moved:
        _give_up(moved)
        return None, {}
    except Exception as error:
        return reason(function, error), {}
    try:
        return _new_array(annotation), _variables(annotation)
    except (AttributeError, KeyError, ImportError):  # the verdict stands without the types
        return None, {}


_MAKERS = ("arrayexpr", "binop", "inplace_binop", "unary")


def _new_array(annotation: Any) -> Finding | None:
    """Arithmetic on whole arrays: it has a type, and no kernel has memory for the result."""
    for block in annotation.blocks.values():
        for statement in block.body:
            made = getattr(statement, "value", None)
            if getattr(made, "op", None) in _MAKERS and hasattr(statement, "target"):
                kind = annotation.typemap[statement.target.name]
                if type(kind).__name__ == "Array":
                    return Finding("not-a-kernel", statement.loc.line, NEW_ARRAY)
    return None


def _variables(annotation: Any) -> dict[tuple[str, int], np.dtype[Any]]:
    """The dtype that each assignment gives to a variable: (name, line) -> dtype.

    Numba numbers the versions of a variable (`acc`, `acc.1`) and copies a version into the
    one that paths share; such copies are no assignments of the source. Arguments have line 0.
    What `a if c else b` gives on a line is under CHOSEN, if all on that line give one type.
    """
    from numba.core import ir

    found: Types = {}
    phis: dict[tuple[str, int], dict[bool, Any]] = {}
    doubtful = set()
    for block in annotation.blocks.values():
        for statement in block.body:
            if type(statement).__name__ != "Assign":
                continue
            name, value = statement.target.name.split(".")[0], statement.value
            copied = isinstance(value, ir.Var) or type(value).__name__ == "Var"
            dtype = _kind(annotation.typemap[statement.target.name])
            if name.startswith("$phi"):
                if copied and dtype is not None and dtype != np.bool_:
                    joined = value.name.split(".")[0] == name
                    phis.setdefault((name, statement.loc.line), {})[joined] = dtype
                continue
            if not name.isidentifier() or (copied and value.name.split(".")[0] == name):
                continue
            line = 0 if type(value).__name__ == "Arg" else statement.loc.line
            key = (name, line)
            if dtype is None or found.setdefault(key, dtype) != dtype:
                doubtful.add(key)
    for (_, line), kinds in phis.items():  # several versions are copied into the joined one
        key, dtype = (CHOSEN, line), kinds.get(True, kinds.get(False))
        if found.setdefault(key, dtype) != dtype:
            doubtful.add(key)
    return {key: dtype for key, dtype in found.items() if key not in doubtful}


def device_types(function: Callable[..., Any]) -> Types:
    """The same for a device function, as far as all its uses so far agree."""
    real = real_device_function(function)
    found: Types = {}
    doubtful = set()
    for compiled in getattr(real, "overloads", {}).values():
        try:
            variables = _variables(compiled.type_annotation)
            result = _kind(compiled.signature.return_type)
            if result is not None:
                variables[RETURNED, 0] = result
        except (AttributeError, KeyError, ImportError):
            continue
        for key, dtype in variables.items():
            if found.setdefault(key, dtype) != dtype:
                doubtful.add(key)
    return {key: dtype for key, dtype in found.items() if key not in doubtful}

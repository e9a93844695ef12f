"""Type check: Numba is the judge of what is a kernel.

Before a kernel runs with new argument types, Numba's own CUDA type inference sees it. What
Numba refuses, the machine refuses, with Numba's reason; what Numba fixed as the type of a
variable, the machine uses. Neither needs a GPU. If Numba cannot be asked, because it is not
installed or its internals have moved, that is said once and stands in every report, and the
machine goes on without the verdict, by its own rules for types.
"""

import dis
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.core.memory import Record, View
from simt.core.places import place
from simt.device import numba_cuda
from simt.errors import MissingPackage
from simt.frontend.dataflow import RETURNED, UNEQUAL, Types, branch_key
from simt.frontend.kinds import kind_of
from simt.frontend.numba_bridge import NotLowered, device_of, real_device, type_annotation
from simt.frontend.numba_errors import NEW_ARRAY, no_code, reason
from simt.machine.views import packed

UNCHECKED = (
    "Numba is not installed here: nobody says whether a GPU would take this kernel, and the SIMT "
    "machine goes by its own rules for types"
)
_verdicts: dict[Any, tuple[Finding | None, Types, Any]] = {}
_reported: list[Finding] = []


def verdict(
    function: Callable[..., Any], arguments: tuple[Any, ...], names: Mapping[Any, Any]
) -> tuple[Finding | None, Types]:
    """Why Numba refuses a kernel, if it does, and the dtypes of the kernel's variables.

    `names` are what the names in the kernel and its device functions stand for: with others it
    is asked again.
    """
    key = function, arguments, tuple((name, _identity(thing)) for name, thing in names.items())
    if key not in _verdicts:
        if len(_verdicts) > 1024:
            _verdicts.clear()
        _verdicts[key] = (*_ask(function, arguments), names)  # what lives keeps its id
    finding, variables, _ = _verdicts[key]
    return finding and replace(finding), variables


def _identity(thing: Any) -> Any:
    """What Numba's verdict can depend on."""
    if isinstance(thing, np.ndarray):
        return thing.dtype, thing.ndim, thing.flags.c_contiguous, thing.flags.f_contiguous
    plain = isinstance(thing, bool | int | float | complex | str)
    return (type(thing), thing) if plain else id(thing)


def declare(function: Any) -> Finding | None:
    """Why Numba refuses a device function for a signature that it declares, if it does."""
    try:
        real_device(function)
    except ImportError as moved:
        give_up(moved)
    except Exception as error:
        return reason(function.py_func, error)
    return None


def give_up(error: BaseException) -> Finding:
    """The finding that a kernel runs unchecked; the first time it is a warning too."""
    why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    message = f"Numba could not be asked whether a GPU would take this kernel ({why})"
    if isinstance(error, MissingPackage):
        message = UNCHECKED
    finding = Finding("no-type-check", None, message)
    if not _reported:
        _reported.append(finding)
        place().warn(message)
    return finding


def unasked() -> Finding | None:
    """The finding that Numba could not be asked, if that has happened."""
    return replace(_reported[0]) if _reported else None


# --- types


def argument_types(values: Sequence[Any]) -> tuple[Any, ...] | None:
    """The Numba types of arguments; None where Numba cannot be asked."""
    try:
        numba_cuda.load()
        return tuple(numba_type(value) for value in values)
    except ImportError as missing:
        give_up(missing)
        return None


@cache
def _element(dtype: np.dtype[Any], aligned: bool) -> Any:
    """`aligned`, of records, is no part of NumPy's equality."""
    from numba.np.numpy_support import from_dtype

    return from_dtype(dtype)


@cache
def _array(element: Any, ndim: int, layout: str, readonly: bool) -> Any:
    from numba import types

    return types.Array(element, ndim, layout, readonly=readonly)


@cache
def _number(kind: Any) -> Any:
    from numba import typeof, types

    return types.unliteral(typeof(kind(0)))


_NUMBERS = (int, float, bool, *(np.dtype(c).type for c in "bhilBHILefd?"))


def numba_type(value: Any) -> Any:
    """The Numba type of an argument as the machine holds it."""
    from numba import typeof, types

    if type(value) in _NUMBERS:
        kind: Any = type(value)
        return _number(kind)
    if isinstance(value, View | Record):
        view = value if isinstance(value, View) else value.view
        try:
            element = _element(view.dtype, view.dtype.isalignedstruct)
        except NotImplementedError:
            message = f"{view.name} holds {view.dtype}, which a kernel cannot hold"
            raise Stop(Finding("not-a-kernel", None, message, array=view.name)) from None
        if value is not view:
            return element
        layout = "C" if packed(view) else "F" if packed(view.transposed()) else "A"
        return _array(element, view.ndim, layout, view.allocation.frozen)
    if isinstance(value, tuple):
        items = tuple(numba_type(v) for v in value)
        if hasattr(value, "_fields"):
            if len(set(items)) == 1:
                return types.NamedUniTuple(items[0], len(items), type(value))
            return types.NamedTuple(items, type(value))
        return types.Tuple(items)
    return types.unliteral(typeof(value))


# --- the verdict


def _ask(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Finding | None, Types]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            annotation = type_annotation(function, arguments)
    except NotLowered as missing:
        here = missing.place.filename == function.__code__.co_filename
        message = no_code(missing.what, here)
        return Finding("not-a-kernel", missing.place.line if here else None, message), {}
    except Exception as error:
        if str(error).startswith("module 'numba.cuda' has no attribute"):
            return None, {}  # Numba's own older target; the machine tells of the name
        if isinstance(error, TypeError) and re.search("^Signature mismatch| argument", str(error)):
            return None, {}  # a wrong call, of which the machine tells; or min(a, b), which the
            # same target does not take from Numba 0.68 on
        if isinstance(error, ImportError) and "linear algebra" in str(error):
            return None, {}  # for which Numba wants SciPy, to refuse it then; the machine does
        return reason(function, error) or give_up(error), {}
    try:
        return _new_array(annotation), variable_types(annotation)
    except (AttributeError, KeyError, ImportError):  # the verdict stands without the types
        return None, {}


_ARRAY_OPERATIONS = ("arrayexpr", "binop", "inplace_binop", "unary")


def _new_array(annotation: Any) -> Finding | None:
    """Arithmetic on whole arrays: it has a type, and no kernel has memory for the result."""
    for block in annotation.blocks.values():
        for statement in block.body:
            value = getattr(statement, "value", None)
            if getattr(value, "op", None) in _ARRAY_OPERATIONS and hasattr(statement, "target"):
                kind = annotation.typemap[statement.target.name]
                if type(kind).__name__ == "Array":
                    return Finding("not-a-kernel", statement.loc.line, NEW_ARRAY)
    return None


def variable_types(annotation: Any) -> dict[tuple[str, int], np.dtype[Any]]:
    """The dtype that each assignment gives to a variable: (name, line) -> dtype.

    Numba numbers the versions of a variable (`acc`, `acc.1`) and copies a version into the
    one that paths share; such copies are no assignments of the source. Arguments have line 0.
    What `a if c else b` gives is under the `branch_key` of its branches. None stands for what is no
    number, or not the same on one line; a line that Numba has dropped is missing.
    """
    types = _common_types(chain(_assigned_types(annotation), _branch_types(annotation)))
    return types | dict.fromkeys(_enum_comparisons(annotation), np.dtype(bool))


def _common_types(pairs: Iterable[tuple[tuple[str, int], Any]]) -> Types:
    """The type on which all pairs of a key agree, else None."""
    types: Types = {}
    for key, dtype in pairs:
        same = dtype is not None and types.setdefault(key, dtype) is not None
        if not same or types[key] != dtype:
            types[key] = None
    return types


def _assigned_types(annotation: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """The types assigned to variables of the source."""
    for block in annotation.blocks.values():
        for statement in block.body:
            if type(statement).__name__ != "Assign":
                continue
            name, value = statement.target.name.split(".")[0], statement.value
            is_copy = type(value).__name__ == "Var" and value.name.split(".")[0] == name
            if name.isidentifier() and not is_copy:
                line = 0 if type(value).__name__ == "Arg" else statement.loc.line
                yield (name, line), kind_of(annotation.typemap[statement.target.name])


_BYTECODE_OFFSET = 2  # Numba counts an instruction before Python's own


def _branch_types(annotation: Any) -> Iterator[tuple[tuple[str, int], Any]]:
    """The types of conditional expressions, by each of their branches.

    Where paths meet, Numba copies what they have computed into `$phi98.0`, and versions of it
    into the one that is read on (`$phi98.0.2 = $phi98.0`). Each copy is the last statement of a
    branch, whose last instruction stands where the branch stands in the source. Inner functions
    are put where they are called, which moves all that.
    """
    code = annotation.func_id.code
    if any(inspect.iscode(constant) for constant in code.co_consts):
        return
    ends: dict[int, dis.Positions] = {}  # of each stretch of code without a jump, by its beginning
    begin, jumps = 0, True
    for instruction in dis.get_instructions(code):
        if jumps or instruction.is_jump_target:
            begin = instruction.offset + _BYTECODE_OFFSET
        jumps = "JUMP" in instruction.opname
        if instruction.positions and not jumps and instruction.opname != "NOP":
            ends[begin] = instruction.positions
    for label, block in annotation.blocks.items():
        results: dict[int, Any] = {}  # by the place on the stack: what was computed last is on top
        for statement in block.body:
            target = getattr(getattr(statement, "target", None), "name", "")
            if target.startswith("$phi") and type(statement.value).__name__ == "Var":
                results[int(target.split(".")[1])] = kind_of(annotation.typemap[target])
        if results and label in ends:
            yield branch_key(ends[label]), results[max(results)]


def _enum_comparisons(annotation: Any) -> set[tuple[str, int]]:
    """The lines where `is` compares members of two enums, which are never the same."""
    lines: dict[bool, set[tuple[str, int]]] = {True: set(), False: set()}
    for block in annotation.blocks.values():
        for statement in block.body:
            value: Any = getattr(statement, "value", None)
            binary = getattr(value, "op", None) == "binop"
            if binary and value.fn in (operator.is_, operator.is_not):
                kinds = {annotation.typemap[side.name] for side in (value.lhs, value.rhs)}
                members = all("EnumMember" in type(kind).__name__ for kind in kinds)
                lines[members and len(kinds) == 2].add((UNEQUAL, statement.loc.line))
    return lines[True] - lines[False]


# --- device functions


def device_types(dispatcher: Any, used: Any = None) -> Types:
    """The dtypes in a device function, as far as the versions that are used, or all, agree."""
    overloads = getattr(device_of(dispatcher), "overloads", {})
    pairs: list[tuple[tuple[str, int], Any]] = []
    for overload in [overloads[signature] for signature in used or overloads]:
        try:
            variables = variable_types(overload.type_annotation)
            result = kind_of(overload.signature.return_type)
            if result is not None:
                variables[RETURNED, 0] = result
        except (AttributeError, KeyError, ImportError):
            continue
        pairs += variables.items()
    return _common_types(pairs)

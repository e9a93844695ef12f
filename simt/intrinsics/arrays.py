"""Array intrinsics: shared, local and constant arrays of the kernel's own."""

import math
from typing import Any

import numpy as np

from simt.core.memory import View
from simt.core.registry import intrinsic
from simt.intrinsics.functions import type_of
from simt.machine.machine import Machine

POINTER_BYTES = 8  # bytes; Numba takes its multiples as an alignment


def _array(m: Machine, space: str, site: Any, shape: Any, dtype: Any, alignment: Any) -> View:
    """The array of a place: one for each shape and type that it is asked for there.

    A function has an array of its own for the types of each call, as it is compiled for
    them; one that calls itself has local arrays of its own in each call.
    """
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if not all(type(n) is int or isinstance(n, np.integer) for n in sizes):
        message = f"the shape of cuda.{space}.array must be known before the kernel runs"
        raise m.stop("not-a-kernel", message)
    frame = len(m.frames) if space == "local" else m.frames[-1].kinds
    key = (space, site, sizes, dtype, frame)
    view = m.spaces.arrays.get(key)
    if view is None:
        view = m.spaces.arrays[key] = _new(m, space, site, sizes, dtype, alignment)
    return view


def _new(
    m: Machine, space: str, site: Any, sizes: tuple[Any, ...], dtype: Any, alignment: Any
) -> View:
    # it changes no count: wherever an array begins, its lanes meet in a bank or do not
    whole = isinstance(alignment, int | np.integer) and not isinstance(alignment, bool)
    fits = whole and alignment >= POINTER_BYTES and alignment & (alignment - 1) == 0
    if alignment is not None and not fits:  # to numba-cuda
        message = f"an alignment of {alignment!r} is no power of two from {POINTER_BYTES} bytes on"
        raise m.stop("not-a-kernel", message)
    element_type = getattr(dtype, "dtype", None) or type_of(dtype)
    if element_type is None:
        message = f"{dtype!r} is not a type for cuda.{space}.array"
        raise m.stop("not-a-kernel", message)
    shape = tuple(int(n) for n in sizes)
    if math.prod(shape) < 0:
        raise m.stop("not-a-kernel", f"a shape of {shape} is negative")
    columns = element_type.kind not in "Vc" and not m.program.reinterprets  # nor has it parts
    name = str(getattr(site, "name", space))
    return m.spaces.private(m, space, shape, element_type, name, columns=columns)


@intrinsic("shared.array", site=True)
def shared_array(m: Machine, site: Any, shape: Any, dtype: Any, alignment: Any = None) -> View:
    """`cuda.shared.array(shape, dtype)`; a size of 0 is the launch's dynamic memory."""
    return _array(m, "shared", site, shape, dtype, alignment)


@intrinsic("local.array", site=True)
def local_array(m: Machine, site: Any, shape: Any, dtype: Any, alignment: Any = None) -> View:
    """`cuda.local.array(shape, dtype)`, one for each thread."""
    return _array(m, "local", site, shape, dtype, alignment)


@intrinsic("const.array_like")
def const_array_like(m: Machine, data: Any) -> View:
    """`cuda.const.array_like(a)`: a copy that kernels can only read."""
    if isinstance(data, View):
        return data
    message = "cuda.const.array_like takes a NumPy array from outside the kernel"
    raise m.stop("not-a-kernel", message)

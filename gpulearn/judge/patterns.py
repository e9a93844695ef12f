"""How a wrong result of a kernel looks: the pattern in one sentence, not two arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.require import shown

if TYPE_CHECKING:
    from gpulearn.judge.launches import Launch


# the block's index times a number, on either side
FIXED = re.compile(
    r"blockIdx\.(?P<axis>[xyz])\s*\*\s*(?P<after>\d+)|"
    r"(?P<before>\d+)\s*\*\s*(?:\w+\.)?blockIdx\.(?P<other>[xyz])"
)

Array = np.ndarray[Any, Any]


def describe(
    got: Array,
    expected: Array,
    launch: Launch,
    position: int,
    empty: Any,
    name: str,
    stored: bool,
    names: Mapping[int, str],
) -> str:
    """Say in one sentence what is wrong with one result, the argument at `position`.

    `empty` is the value of elements that nobody has written, or None if they had others; `stored`
    says whether anything is written to it, even what stood there before, and `names` what the
    kernel calls its arrays, by their positions.
    """
    unwritten = np.zeros(got.shape, bool)
    if empty is not None:
        unwritten = blank(got, empty)
        if sentence := _holes(got, expected, unwritten, name, launch):
            return sentence
    elif np.array_equal(got, launch.args[position]):
        why = "what is written to it is what stood there" if stored else "nothing is written to it"
        return f"{name} is left as it was: {why}"
    look = _look(got, expected, name, launch, names)
    return look or _first(got, expected, unwritten, name, launch)


def blank(got: Array, empty: Any) -> Array:
    """Where a result still holds what marks an element that nobody has written."""
    if got.dtype.kind == "f":  # NaN equals nothing, and is not always this one
        bits = f"u{got.itemsize}"
        return np.asarray(got.view(bits) == np.asarray(empty, got.dtype).view(bits))
    return np.asarray(got == empty)


def _holes(got: Array, expected: Array, unwritten: Array, name: str, launch: Launch) -> str | None:
    """What is never written, if all that is written is right."""
    if unwritten.all():
        return f"{name} is never written"
    written = ~unwritten
    if not unwritten.any() or not _close(got[written], expected[written]):
        return None
    x, y = (*_triple(launch.block), 1)[:2]
    first = np.zeros(got.shape, bool)
    first[tuple(slice(side) for side in ((x * y,) if got.ndim == 1 else (y, x)))] = True
    if max(_triple(launch.grid)) > 1 and np.array_equal(written, first):
        size = " × ".join(map(str, reversed(_triple(launch.block))))
        return f"only the elements of block 0 are written, the first {size}"
    for axis, other in ((1, 0), (0, 1)) if got.ndim == 2 else ():
        count = int(written.any(axis=other).sum())
        side = np.arange(got.shape[axis]) < count
        band = np.broadcast_to(side if axis else side[:, None], got.shape)
        blocks = (*_triple(launch.grid), 1)[1 - axis]
        if blocks > 1 and count in (x, y) and np.array_equal(written, band):
            what = "columns" if axis else "rows"
            return f"only the first {count} {what} of {name} are written, those of the first blocks"
    _, index = compare.first(unwritten)
    if unwritten.sum() == 1:
        return f"{name}{index} is never written; all others are right"
    return (
        f"{unwritten.sum():,} of {got.size:,} elements of {name} are never written, "
        f"first {name}{index}; those that are written are right"
    )


def _look(
    got: Array, expected: Array, name: str, launch: Launch, names: Mapping[int, str]
) -> str | None:
    """A pattern in what is written."""
    if got.size > 1 and got.min() == got.max() and expected.min() != expected.max():
        return f"every element of {name} is {shown(got.flat[0])}"
    for other, value in enumerate(launch.args):
        if other in launch.results or not isinstance(value, np.ndarray):
            continue
        if value.shape == got.shape and _close(got, value):
            return f"{name} equals {names.get(other, f'argument number {other + 1}')}, unchanged"
    if sentence := _steady(got, expected, name) or _whole(got, expected, name):
        return sentence
    if got.ndim == 2:
        side = min(got.shape)
        square, turned = got[:side, :side], expected[:side, :side].T
        if side > 1 and _close(square, turned):
            return f"rows and columns of {name} are swapped"
    if got.ndim == 1 and got.size > 1 and _close(got, expected[::-1]):
        return f"{name} is right, but back to front"
    return None


def _steady(got: Array, expected: Array, name: str) -> str | None:
    """One factor, or one number too much, throughout."""
    if got.size < 2 or not np.isfinite(got).all() or expected.min() == expected.max():
        return None
    most = np.unravel_index(np.abs(expected).argmax(), expected.shape)
    factor = float(got[most]) / float(expected[most])
    more = float(got.flat[0]) - float(expected.flat[0])
    with np.errstate(invalid="ignore"):  # a whole number that is out of range is not close
        scaled = (got / factor).astype(expected.dtype) if factor else got
        moved = (got - more).astype(expected.dtype)
    if factor and _close(scaled, expected):
        return f"every element of {name} is {factor:.4g} times what it should be"
    if _close(moved, expected):
        way = "large" if more > 0 else "small"
        return f"every element of {name} is too {way} by {abs(more):.4g}"
    return None


def _whole(got: Array, expected: Array, name: str) -> str | None:
    """What has lost all that is behind the decimal point."""
    if got.dtype.kind != "f" or not np.isfinite(got).all() or not (got == np.rint(got)).all():
        return None
    ways = (("cut off", np.trunc), ("rounded down", np.floor), ("rounded", np.rint))
    for way, whole in ways:
        if _close(got, whole(expected)):
            return f"every element of {name} is {way} to a whole number"
    return None


def _first(got: Array, expected: Array, unwritten: Array, name: str, launch: Launch) -> str:
    close = compare.alike(got, expected)
    where, index = compare.first(~close)
    count = int((~close).sum())
    of = f"all {count:,}" if count == close.size else f"{count:,} of {close.size:,}"
    place = ""
    if _edges(close):
        place = " (only at the edges)"
    elif _seams(close, launch):
        place = " (only where two blocks meet)"
    many = f"{of} elements of {name} differ{place}, first " if count > 1 else ""
    value = "never written" if unwritten[where] else shown(got[where])
    return f"{many}{name}{index} is {value}, expected {shown(expected[where])}"


def _edges(close: Array) -> bool:
    """Whether a few elements at the ends, or a narrow frame, are all that differs."""
    widths = [side // 8 for side in close.shape]
    inner = tuple(slice(w, side - w) for w, side in zip(widths, close.shape, strict=True))
    return min(widths, default=0) > 0 and bool(close[inner].all())


def _seams(close: Array, launch: Launch) -> bool:
    """Whether all that differs lies beside an edge of a block with another block behind it."""
    sides = _triple(launch.block)[: close.ndim][::-1]
    if len(sides) < close.ndim:
        return False
    beside = np.zeros(close.shape, bool)
    for axis, (side, size) in enumerate(zip(sides, close.shape, strict=True)):
        place = np.arange(size)
        after = (place % side < side // 8) & (place >= side)
        before = (place % side >= side - side // 8) & (place // side < (size - 1) // side)
        beside |= (after | before).reshape([-1 if a == axis else 1 for a in range(close.ndim)])
    return bool((close | beside).all())


def _close(got: Array, expected: Array) -> bool:
    return bool(compare.alike(got, expected).all())


def fixed_size(source: Mapping[int, str], launch: Launch) -> str:
    """The line that takes another size of a block than this launch has for granted, or ""."""
    for line, text in source.items():
        for match in FIXED.finditer(text):
            axis = match["axis"] or match["other"]
            typed = int(match["after"] or match["before"])
            sides = (*_triple(launch.block), 1, 1)
            if typed != (side := sides["xyz".index(axis)]):
                return (
                    f"Line {line} (`{text.strip()}`) multiplies blockIdx.{axis} by {typed}, where "
                    f"blockDim.{axis} is {side}"
                )
    return ""


def _triple(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape

"""How a wrong result of a kernel looks: the pattern in one sentence, not two arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn._require import shown
from gpulearn.lessons import compare

if TYPE_CHECKING:
    from gpulearn.lessons.kernel_exercise import Launch

__all__ = ["describe"]

Array = np.ndarray[Any, Any]


def describe(
    got: Array, expected: Array, launch: Launch, position: int, empty: Any, name: str
) -> str:
    """Say in one sentence what is wrong with one result.

    Args:
        got: what the kernel left behind.
        expected: what the specification says, of the same shape.
        launch: the launch.
        position: which argument it is.
        empty: the value of elements that nobody has written, or None if they had others.
        name: what the kernel calls it.
    """
    if empty is not None:
        unwritten = np.isnan(got) if isinstance(empty, float) else got == empty
        if sentence := _holes(got, expected, unwritten, name, launch):
            return sentence
    elif np.array_equal(got, launch.args[position]):
        return f"{name} is left as it was: nothing is written to it"
    return _look(got, expected, name, launch) or _first(got, expected, name)


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
    if np.array_equal(written, first):
        return (
            f"only the elements of block 0 are written, the first {shown_block(launch)}: "
            f"is the block index used?"
        )
    where = tuple(int(i) for i in np.argwhere(unwritten)[0])
    return (
        f"{unwritten.sum():,} of {got.size:,} elements of {name} are never written, "
        f"first {name}[{_index(where)}]; those that are written are right"
    )


def _look(got: Array, expected: Array, name: str, launch: Launch) -> str | None:
    """A pattern in what is written."""
    if got.size > 1 and got.min() == got.max() and expected.min() != expected.max():
        return f"every element of {name} is {shown(got.flat[0])}"
    for other, value in enumerate(launch.args):
        if other in launch.results or not isinstance(value, np.ndarray):
            continue
        if value.shape == got.shape and _close(got, value):
            return f"{name} equals argument number {other + 1}, unchanged"
    if got.ndim == 2:
        if got.shape[0] == got.shape[1] and _close(got, expected.T):
            return f"rows and columns of {name} are swapped"
        side = min(got.shape)
        square, turned = got[:side, :side], expected[:side, :side].T
        if side > 1 and _close(square, turned):
            return f"rows and columns of {name} are swapped"
    if got.ndim == 1 and got.size > 1 and _close(got, expected[::-1]):
        return f"{name} is right, but back to front"
    return None


def _first(got: Array, expected: Array, name: str) -> str:
    close = compare.alike(got, expected)
    where = tuple(int(i) for i in np.argwhere(~close)[0])
    count = int((~close).sum())
    many = f"{count:,} of {close.size:,} elements of {name} differ, first " if count > 1 else ""
    return (
        f"{many}{name}[{_index(where)}] is {shown(got[where])}, expected {shown(expected[where])}"
    )


def _close(got: Array, expected: Array) -> bool:
    return bool(compare.alike(got, expected).all())


def _index(where: tuple[int, ...]) -> str:
    return ", ".join(map(str, where))


def _triple(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def shown_block(launch: Launch) -> str:
    """A block's size in words, such as "32" or "8 × 16"."""
    return " × ".join(str(n) for n in reversed(_triple(launch.block)))

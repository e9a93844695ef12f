"""What a wrong kernel's case is: the kernel, its launch, and what the finding must say."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Place = tuple[int, int, int]
Who = tuple[Place, Place]  # (block, thread)
GOES_ON = ("race", "uninitialized-read", "negative-index", "left-before-barrier", "float64-leak")


@dataclass(frozen=True)
class Mistake:
    """A kernel with one mistake, and where it must be found.

    `marks` are texts that stand on the line (or, for two lines, on each of them; where
    Numba refuses, on any line that it may fairly blame);
    `guilty` says of the threads that a finding names whether they did it.
    """

    kernel: Callable[..., None]
    grid: Any
    block: Any
    args: Callable[[], tuple[Any, ...]]
    kind: str
    marks: tuple[str, ...]
    stops: bool  # whether a plain launch raises KernelError
    guilty: Callable[[list[Who]], bool] | None = None
    array: str | None = None
    index: Callable[[tuple[int, ...], Who], bool] | None = None

    @property
    def name(self) -> str:
        return self.kernel.__name__


class Mistakes(list[Mistake]):
    """A list of mistakes that a decorator fills."""

    def add(self, launch: Any, args: Any, kind: str, *marks: str, **more: Any) -> Any:
        def keep(kernel: Callable[..., None]) -> Callable[..., None]:
            stops = more.pop("stops", kind not in GOES_ON)
            self.append(Mistake(kernel, *launch, args, kind, marks, stops=stops, **more))
            return kernel

        return keep


def each(rule: Callable[[int], bool]) -> Callable[[list[Who]], bool]:
    """At least one thread is named, and the rule holds for the x of each."""
    return lambda who: bool(who) and all(rule(t[0]) for _, t in who)


def pair(rule: Callable[[int, int], bool]) -> Callable[[list[Who]], bool]:
    """Two threads of one block are named, and the rule holds for their x, in some order."""

    def check(who: list[Who]) -> bool:
        (block_a, a), (block_b, b) = who
        return block_a == block_b and a != b and (rule(a[0], b[0]) or rule(b[0], a[0]))

    return check


def f4(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) + 1

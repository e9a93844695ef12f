"""Gradient descent from many starting points at once: one thread walks from each of them.

The surface is Himmelblau's function, which has four minima, all with the value 0:

    J(x, y) = a² + b²  with  a = x² + y − 11  and  b = x + y² − 7

Source: D. M. Himmelblau, "Applied Nonlinear Programming", McGraw-Hill, 1972. A step is that of
heavy-ball momentum: v ← momentum·v + ∇J, (x, y) ← (x, y) − rate·v (B. T. Polyak, "Some methods
of speeding up the convergence of iteration methods", USSR Comput. Math. Math. Phys. 4, 1964).
With momentum 0 it is plain gradient descent. The starts that lead to one minimum are its basin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.kernels.indexing import blocks_for, blocks_over
from gpulearn.kernels.specification import Array, Specification

Window = tuple[float, float, float, float]

# (x, y) of the four minima, one in each quadrant; the first is exact, the others are roots of
# ∇J, found by Newton's method in float64 and rounded
MINIMA = ((3.0, 2.0), (-2.805118, 3.131313), (-3.779310, -3.283186), (3.584428, -1.848127))
BLOCK = 128
SIDE = 240  # starts of `basins` along each axis
UNSETTLED, ESCAPED = -1, -2  # what stands in place of a minimum's number

# Constants as float32: with a plain 4 or 0.01 Numba would compute in float64.
TWO, FOUR, SEVEN, ELEVEN = (np.float32(n) for n in (2, 4, 7, 11))
LOW = np.float32(1e-4)  # where J is lower, a minimum is less than 0.004 away
FAR = np.float32(1e6)  # x² + y² from where nobody comes back: the slope grows with the cube


@cuda.jit
def descend_all(
    xs: Array, ys: Array, rate: float, momentum: float, most: int, basin: Array, taken: Array
) -> None:
    """Walk downhill from each start until J < 0.0001: to which minimum, in how many steps?

    The starts `xs` and `ys` are float32 (n,). `rate` is `np.float32(…)`, and so is `momentum`, the
    share of the last step that is kept, 0 ≤ momentum < 1: a Python float is a float64, and so is
    whatever is computed with it. After `most` steps a thread gives up. It writes to `basin`, int32
    (n,), the row of `MINIMA`, `UNSETTLED` where the limit came first, `ESCAPED` where the walk left
    for good; and to `taken`, int32 (n,), its steps.

    Launch: at least n threads in one dimension, such as `[blocks_for(n, 128), 128]`.

    >>> basin, taken = np.zeros((2, 3), np.int32)
    >>> xs, ys = np.array([[3, -4, 90], [2, 4, 90]], np.float32)
    >>> descend_all[1, 32](xs, ys, np.float32(0.01), np.float32(0), 100, basin, taken)
    >>> basin, taken
    (array([ 0,  1, -2], dtype=int32), array([0, 6, 1], dtype=int32))
    """
    i = cuda.grid(1)
    if i < xs.size:
        x, y = xs[i], ys[i]
        vx, vy = np.float32(0), np.float32(0)
        basin[i] = UNSETTLED
        taken[i] = most
        for step in range(most):
            a = x * x + y - ELEVEN
            b = x + y * y - SEVEN
            if a * a + b * b < LOW:
                # so close to a minimum that its quadrant says which
                basin[i] = (0 if x > 0 else 1) if y > 0 else (2 if x < 0 else 3)
                taken[i] = step
                break
            vx = momentum * vx + FOUR * x * a + TWO * b
            vy = momentum * vy + TWO * a + FOUR * y * b
            x -= rate * vx
            y -= rate * vy
            if not x * x + y * y < FAR:  # so written because nan is not less either
                basin[i] = ESCAPED
                taken[i] = step + 1
                break


def basins(rate: float) -> Array:
    """Launch `descend_all` for 240 × 240 starts, evenly over −6 to 6 along x and y.

    Returned is the minimum that each start leads to in 300 steps, int32, (240, 240): y grows with
    the row, x with the column; `UNSETTLED` or `ESCAPED` where there is none.
    """
    require.above_zero("rate", rate)
    x, y = np.meshgrid(*[np.linspace(-6.0, 6.0, SIDE)] * 2)
    starts = [cuda.to_device(part.ravel().astype(np.float32)) for part in (x, y)]
    basin, taken = (cuda.to_device(np.zeros(SIDE * SIDE, np.int32)) for _ in range(2))
    numbers = np.float32(rate), np.float32(0), 300
    descend_all[blocks_for(SIDE * SIDE, BLOCK), BLOCK](*starts, *numbers, basin, taken)
    minima: Array = basin.copy_to_host().reshape(SIDE, SIDE)
    return minima


def descend_all_numpy(
    xs: Array, ys: Array, rate: float, momentum: float = 0.0, most: int = 500
) -> tuple[Array, Array]:
    """The same walks with NumPy, all at once: the form against which the kernel is held.

    On the SIMT machine both agree to the bit. A GPU joins a product and a sum into one operation
    that rounds once; there, starts on the border between two basins may end in the other one.
    Basins and steps are int32, in the shape of the starts; see `descend_all`.

    >>> descend_all_numpy(np.array([3.0, -4.0]), np.array([2.0, 4.0]), rate=0.01)
    (array([0, 1], dtype=int32), array([0, 6], dtype=int32))
    """
    shape = np.shape(xs)
    eta, beta = np.float32(rate), np.float32(momentum)
    x, y = (np.array(given, np.float32).ravel() for given in (xs, ys))
    vx, vy = np.zeros((2, x.size), np.float32)
    basin, taken = np.full((2, x.size), ((UNSETTLED,), (most,)), np.int32)
    walking = np.ones(x.size, bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(most):
            a = x * x + y - ELEVEN
            b = x + y * y - SEVEN
            there = walking & (a * a + b * b < LOW)
            quadrant = np.where(y > 0, np.where(x > 0, 0, 1), np.where(x < 0, 2, 3))
            basin[there], taken[there] = quadrant[there], step
            vx = beta * vx + FOUR * x * a + TWO * b
            vy = beta * vy + TWO * a + FOUR * y * b
            x, y = x - eta * vx, y - eta * vy
            gone = walking & ~there & ~(x * x + y * y < FAR)
            basin[gone], taken[gone] = ESCAPED, step + 1
            walking &= ~(there | gone)
    return basin.reshape(shape), taken.reshape(shape)


DESCEND_ALL = Specification(
    descend_all,
    lambda xs, ys, rate, momentum, most, basin, taken: descend_all_numpy(
        xs, ys, float(rate), float(momentum), most
    ),
    grid=blocks_over(0),
    block=BLOCK,
    outputs=(5, 6),
)


@cuda.jit
def descend_on_gpu(
    xs: Array, ys: Array, rate: float, steps: int, end_x: Array, end_y: Array
) -> None:
    """Walk a number of steps downhill from each start: where does each walk end?

    `xs`, `ys`, `end_x` and `end_y` are float32 (n,), `rate` is `np.float32(…)`. Launch: as
    `descend_all`. A thread loads its start once and stores its end once.

    >>> end_x, end_y = np.zeros((2, 2), np.float32)
    >>> xs, ys = np.array([[3, -4], [2, 4]], np.float32)
    >>> descend_on_gpu[1, 32](xs, ys, np.float32(0.01), 100, end_x, end_y)
    >>> end_x.round(3), end_y.round(3)
    (array([ 3.   , -2.805], dtype=float32), array([2.   , 3.131], dtype=float32))
    """
    i = cuda.grid(1)
    if i < xs.size:
        x, y = xs[i], ys[i]
        for _ in range(steps):
            a = x * x + y - ELEVEN
            b = x + y * y - SEVEN
            x, y = x - rate * (FOUR * x * a + TWO * b), y - rate * (TWO * a + FOUR * y * b)
        end_x[i] = x
        end_y[i] = y


def ends(
    xs: Array, ys: Array, rate: Any, steps: int, end_x: Array, end_y: Array
) -> tuple[Array, Array]:
    """Where the walks of `descend_on_gpu` end, with NumPy."""
    x, y, eta = xs, ys, np.float32(rate)
    for _ in range(steps):
        a = x * x + y - ELEVEN
        b = x + y * y - SEVEN
        x, y = x - eta * (FOUR * x * a + TWO * b), y - eta * (TWO * a + FOUR * y * b)
    return x, y


DESCEND_ON_GPU = replace(DESCEND_ALL, kernel=descend_on_gpu, reference=ends, outputs=(4, 5))

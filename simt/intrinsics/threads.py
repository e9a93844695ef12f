"""Thread identity: indices, dimensions and `grid`, as a thread asks for its own."""

from simt.core.registry import intrinsic
from simt.core.values import Value
from simt.machine.machine import Machine


def _nothing(m: Machine) -> None:
    raise AssertionError("an attribute is not called")


for _name in ("threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize"):
    intrinsic(_name, attribute=True)(_nothing)


def _axes(m: Machine, ndim: int) -> tuple[Value, ...]:
    if type(ndim) is not int or ndim not in (1, 2, 3):
        message = "the argument must be 1, 2 or 3"
        raise m.stop("not-a-kernel", message)
    names = "xyz"[:ndim]
    if ndim not in m.axes:
        m.axes[ndim] = tuple(
            getattr(m.blockIdx, a) * getattr(m.blockDim, a) + getattr(m.threadIdx, a) for a in names
        )
    return m.axes[ndim]


@intrinsic("grid")
def grid(m: Machine, ndim: int) -> Value:
    """`cuda.grid(n)`: the thread's own place in the whole grid."""
    axes = _axes(m, ndim)
    return axes[0] if ndim == 1 else axes


@intrinsic("gridsize")
def gridsize(m: Machine, ndim: int) -> Value:
    """`cuda.gridsize(n)`: the threads of the whole grid, per axis."""
    _axes(m, ndim)
    sizes = tuple(getattr(m.blockDim, a) * getattr(m.gridDim, a) for a in "xyz"[:ndim])
    return sizes[0] if ndim == 1 else sizes

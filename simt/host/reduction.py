"""Reductions: `cuda.reduce` folds an array with a function of two numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from simt.errors import BadCall
from simt.host.device_array import DeviceNDArray, device_empty
from simt.host.dispatcher import Kernel
from simt.host.generated import THREADS, device_function, kernel_from, on_device, operand

MAX_BLOCKS = 64
_TEXT = """\
def kernel(values, partials, init, use_init):
    warps = cuda.shared.array((4, 32), dtype)
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    warp, lane = t // 32, t % 32
    total = values[cuda.grid(1)]
    for i in range(cuda.grid(1) + cuda.gridsize(1), values.size, cuda.gridsize(1)):
        total = core(total, values[i])
    warps[warp, lane] = total
    cuda.syncwarp()
    if size == 128 or (warp + 1) * 32 < size:
        width = 16
        while width > 0:
            if lane < width:
                warps[warp, lane] = core(warps[warp, lane], warps[warp, lane + width])
            cuda.syncwarp()
            width //= 2
    elif lane == 0:
        for k in range(1, size - warp * 32):
            warps[warp, 0] = core(warps[warp, 0], warps[warp, k])
    cuda.syncthreads()
    if size == 128:
        if t < 2:
            warps[t, 0] = core(warps[t, 0], warps[t + 2, 0])
        cuda.syncwarp()
        if t == 0:
            partials[cuda.blockIdx.x] = core(warps[0, 0], warps[1, 0])
    elif t == 0:
        total = warps[0, 0]
        for k in range(1, (size + 31) // 32):
            total = core(total, warps[k, 0])
        partials[cuda.blockIdx.x] = total
    if use_init and t == 0 and cuda.blockIdx.x == 0:
        partials[0] = core(partials[0], init)
"""


class Reduce:
    """`cuda.reduce`: folds an array with a function of two numbers, in Numba's order.

    Blocks of 128 threads take the whole multiples of 128 elements, one block the rest; a last
    block folds what each of them has left. Within a warp halves are folded onto halves, so the
    function should be associative and commutative.
    """

    def __init__(self, functor: Callable[..., Any]) -> None:
        self._functor = functor
        self._kernels: dict[np.dtype[Any], Kernel] = {}

    def _kernel(self, dtype: np.dtype[Any]) -> Kernel:
        if dtype not in self._kernels:
            core = device_function(self._functor)
            self._kernels[dtype] = kernel_from(_TEXT, core=core, dtype=dtype.type)
        return self._kernels[dtype]

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """The fold of the first `size` elements; None if it goes to `res[0]`, on the device.

        An empty array gives `init`, and leaves `res` as it is.

        Raises:
            BadCall: if the array has not one dimension, or `res` is no device array of its type.
        """
        array = operand(arr)
        if array.ndim != 1:
            raise BadCall(f"only 1-D arrays can be reduced, got shape {array.shape}: use ravel()")
        if res is not None and not (
            isinstance(res, DeviceNDArray) and res.dtype == array.dtype and res.size
        ):
            raise BadCall(
                f"res must be a device array of {array.dtype}, such as cuda.device_array(1, "
                f"np.{array.dtype}), got a {type(res).__name__}"
            )
        array = array[:size]
        init = array.dtype.type(init)
        if array.size < 1:
            return init
        data = array if isinstance(array, DeviceNDArray) else on_device(array)
        kernel = self._kernel(data.dtype)
        whole = data.size // THREADS * THREADS
        blocks = min(whole // THREADS, MAX_BLOCKS)
        partials = device_empty(blocks + (whole < data.size), data.dtype)
        if blocks:
            kernel[blocks, THREADS, stream](data[:whole], partials[:blocks], init, True)
        if whole < data.size:
            rest = data[whole:]
            kernel[1, rest.size, stream](rest, partials[blocks:], init, not blocks)
        if partials.size > 1:
            kernel[1, partials.size, stream](partials, partials, init, False)
        if res is None:
            return partials[0]
        res[:1].copy_to_device(partials[:1], stream)
        return None

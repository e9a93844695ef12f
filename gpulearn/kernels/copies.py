"""One number per thread, copied: the same work in every order that memory can be walked.

One load or store of a warp is a request; memory answers in sectors of 32 bytes, so 32 float32 (128
bytes) need 4 of them at best and 32 at worst.
"""

from dataclasses import replace

from gpulearn import cuda
from gpulearn.kernels.indexing import blocks_over
from gpulearn.kernels.specification import Array, Specification, blocks_along


@cuda.jit
def copy_strided(source: Array, target: Array, stride: int) -> None:
    """target[i] = source[i·stride], a thread per element of `target` (n,).

    Launch: at least n threads in x; `source` has at least (n − 1)·stride + 1 elements. With
    float32 a request reads min(4·stride, 32) sectors for the strides 1, 2, 4, 8, …

    >>> import numpy as np
    >>> target = np.zeros(5, np.float32)
    >>> copy_strided[1, 32](np.arange(10, dtype=np.float32), target, 2)
    >>> target
    array([0., 2., 4., 6., 8.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[i * stride]


@cuda.jit
def copy_by_rows(image: Array, out: Array) -> None:
    """Copy a picture with x as the column: neighboring lanes are neighbors in memory.

    `image` and `out` have shape (rows, columns). Launch: x covers the columns, y the rows.
    4 sectors per request of float32, where a row is a multiple of 32 bytes long.
    """
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = image[row, column]


@cuda.jit
def copy_in_runs(source: Array, target: Array) -> None:
    """Copy (n,) with fewer threads than elements, each thread a run of neighbors.

    Launch: any number of threads in x. Neighboring lanes are a whole run apart: 32 sectors per
    request of float32 where a run has 8 elements or more.
    """
    start = cuda.grid(1)
    run = (source.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    for i in range(start * run, min((start + 1) * run, source.size)):
        target[i] = source[i]


@cuda.jit
def copy_coalesced(source: Array, target: Array) -> None:
    """Copy (n,) with fewer threads than elements, neighboring lanes on neighbors.

    Launch: any number of threads in x; 4 sectors per request of float32.

    >>> import numpy as np
    >>> source, target = np.arange(5.0), np.zeros(5)
    >>> copy_coalesced[1, 2](source, target)
    >>> target
    array([0., 1., 2., 3., 4.])
    """
    start = cuda.grid(1)
    threads = cuda.gridsize(1)
    for i in range(start, source.size, threads):
        target[i] = source[i]


COPY_STRIDED = Specification(
    copy_strided,
    lambda source, target, stride: (source[::stride][: target.size],),
    grid=blocks_over(1),
    block=128,
    outputs=(1,),
)
COPY_BY_ROWS = Specification(
    copy_by_rows, lambda source, target: (source,), grid=blocks_over(1), block=(32, 8), outputs=(1,)
)
COPY_IN_RUNS = replace(
    COPY_BY_ROWS,
    kernel=copy_in_runs,
    grid=lambda source, target, block: blocks_along(source.size, 16 * block),  # 16 for each
    block=128,
)
COPY_COALESCED = replace(COPY_IN_RUNS, kernel=copy_coalesced)

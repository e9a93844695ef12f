"""Programs on several streams: copies and kernels that overlap, and the events that order them."""

from __future__ import annotations

from gpulearn import cuda, require
from gpulearn.kernels.indexing import blocks_for, blocks_over
from gpulearn.kernels.specification import Array, Specification
from gpulearn.kernels.vectors import vector_add

BLOCK = 128
GROWTH, SEASONS = 3.7, 40


@cuda.jit
def after_seasons(populations: Array) -> None:
    """Each population after `SEASONS` seasons, a thread for each, in place.

    The logistic map x → r·x·(1 − x) says how large a population is in the next season, as a share
    of the most that its land can feed. Source: R. M. May, "Simple mathematical models with very
    complicated dynamics", Nature 261 (1976). So many steps on each number take longer than its way
    through memory. `populations` is float64 (n,), from 0 to 1: a difference grows season by season.

    Launch: one-dimensional, with at least n threads.
    Cost: 3·`SEASONS` operations for each number, which is read and written once.

    >>> import numpy as np
    >>> populations = np.array([0.0, 1 - 1 / GROWTH])  # two that never change
    >>> after_seasons[1, 32](populations)
    >>> populations.round(6)
    array([0.     , 0.72973])
    """
    i = cuda.grid(1)
    if i < populations.size:
        x = populations[i]
        for _ in range(SEASONS):
            x = GROWTH * x * (1 - x)
        populations[i] = x


def seasons(populations: Array) -> tuple[Array]:
    """What `after_seasons` must leave."""
    for _ in range(SEASONS):
        populations = GROWTH * populations * (1 - populations)
    return (populations,)


AFTER_SEASONS = Specification(after_seasons, seasons, grid=blocks_over(0), block=128, updated=(0,))


def wait_for_event(a: Array, b: Array, out: Array) -> None:
    """Out = a + b on the GPU; a and b travel on two streams, and the sum waits for both.

    An event orders the copy on the second stream before the kernel on the first. All three are
    (n,), of one dtype, in pinned memory; `out` is filled when the function returns.

    >>> a, b, out = (cuda.pinned_array(3) for _ in range(3))
    >>> a[:], b[:] = 1, 2
    >>> wait_for_event(a, b, out)
    >>> out
    array([3., 3., 3.])
    """
    first, second = cuda.stream(), cuda.stream()
    on_gpu = [cuda.device_array_like(x) for x in (a, b, out)]
    on_gpu[0].copy_to_device(a, stream=first)
    on_gpu[1].copy_to_device(b, stream=second)
    copied = cuda.event()
    copied.record(second)
    copied.wait(first)
    vector_add[blocks_for(out.size, BLOCK), BLOCK, first](*on_gpu)
    on_gpu[2].copy_to_host(out, stream=first)
    first.synchronize()


@require.sizes("chunks")
def pipeline_copies(values: Array, out: Array, chunks: int) -> None:
    """The populations after some seasons, in chunks, each on a stream of its own.

    While one chunk is computed, the next is copied in and the previous one copied out. `values` and
    `out` are float64 (n,) in pinned memory, `chunks` is from 1 to n; `out` is filled when the
    function returns.

    >>> values, out = cuda.pinned_array(6), cuda.pinned_array(6)
    >>> values[:] = 0
    >>> pipeline_copies(values, out, 3)
    >>> out
    array([0., 0., 0., 0., 0., 0.])
    """
    on_gpu = cuda.device_array_like(values)
    for k in range(chunks):
        part = slice(k * values.size // chunks, (k + 1) * values.size // chunks)
        stream = cuda.stream()
        on_gpu[part].copy_to_device(values[part], stream=stream)
        after_seasons[blocks_for(on_gpu[part].size, BLOCK), BLOCK, stream](on_gpu[part])
        on_gpu[part].copy_to_host(out[part], stream=stream)
    cuda.synchronize()

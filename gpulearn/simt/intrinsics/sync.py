"""Synchronisation: barriers of a block and of the grid, and memory fences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.masks import EMPTY
from gpulearn.simt.core.registry import intrinsic
from gpulearn.simt.core.values import Value, truth
from gpulearn.simt.machine.machine import Machine

__all__ = ["returned"]


def barrier(m: Machine) -> None:
    """`syncthreads`: all threads of each block that arrives must arrive."""
    blocks: Any = None
    if m.mask is EMPTY:
        return
    if m.mask is not None:
        mask = m.spread(m.mask)
        arriving, complete = mask.any(axis=1), mask.all(axis=1)
        wrong = np.flatnonzero(arriving & ~complete)
        if len(wrong):
            raise Stop(_divergence(m, mask, int(wrong[0])))
        blocks = None if arriving.all() else arriving.reshape(-1, 1)
    for told in m.events.barrier:
        told(m, blocks, False)


def returned(m: Machine) -> Any:
    """Which threads (blocks, threads per block) have returned from the kernel."""
    left = m.frames[0].left
    gone = left if isinstance(left, np.ndarray) else left is None
    return m.spread(gone)


def _divergence(m: Machine, mask: Any, block: int) -> Finding:
    waiting = np.flatnonzero(mask[block])
    missing = np.flatnonzero(~mask[block])
    gone = missing[returned(m)[block, missing]]
    base = block * m.threads
    if len(gone):
        other = int(gone[0])
        story = f"{len(gone)} of {m.threads} threads of the block returned before this barrier"
    else:
        other = int(missing[0])
        story = (
            f"only {len(waiting)} of {m.threads} threads of the block reach this barrier; "
            "the others took another path"
        )
    here, there = m.thread_name(base + int(waiting[0])), m.thread_name(base + other)
    words = m.pair_text(here, there)
    verb = "has left" if len(gone) else "does not come"
    message = f"{story}: {words[0]} waits, {words[1]} {verb}"
    return Finding("barrier-divergence", m.here(), message, [here, there])


@intrinsic("syncthreads")
def syncthreads(m: Machine) -> None:
    """`cuda.syncthreads()`."""
    barrier(m)


def _per_block(m: Machine, predicate: Value) -> Any:
    barrier(m)
    return m.spread(truth(predicate))


def _result(m: Machine, values: Any) -> Value:
    column = values.astype(np.int32).reshape(-1, 1)
    return column[0, 0] if len(column) == 1 else column


@intrinsic("syncthreads_count")
def syncthreads_count(m: Machine, predicate: Value) -> Value:
    """A barrier that tells how many threads of the block gave a true value."""
    return _result(m, np.count_nonzero(_per_block(m, predicate), axis=1))


@intrinsic("syncthreads_and")
def syncthreads_and(m: Machine, predicate: Value) -> Value:
    """A barrier that tells whether all threads of the block gave a true value."""
    return _result(m, _per_block(m, predicate).all(axis=1))


@intrinsic("syncthreads_or")
def syncthreads_or(m: Machine, predicate: Value) -> Value:
    """A barrier that tells whether any thread of the block gave a true value."""
    return _result(m, _per_block(m, predicate).any(axis=1))


def _fence(m: Machine, *, block_only: bool = False) -> None:
    if m.mask is EMPTY:
        return
    for told in m.events.fence:
        told(m, block_only)


@intrinsic("threadfence")
def threadfence(m: Machine) -> None:
    """Makes this thread's writes visible to the device before its later ones."""
    _fence(m)


@intrinsic("threadfence_system")
def threadfence_system(m: Machine) -> None:
    """Makes this thread's writes visible everywhere before its later ones."""
    _fence(m)


@intrinsic("threadfence_block")
def threadfence_block(m: Machine) -> None:
    """Makes this thread's writes visible to its block before its later ones."""
    _fence(m, block_only=True)


@intrinsic("nanosleep")
def nanosleep(m: Machine, nanoseconds: Value) -> None:
    """Waits a moment; the machine has no clock."""


class GridGroup:
    """`cuda.cg.this_grid()`: all threads of the launch."""

    def kernel_sync(self, m: Machine) -> int:
        """A barrier of the whole grid."""
        if m.mask is not None:
            mask = m.spread(m.mask if m.mask is not EMPTY else False)
            if not mask.any():
                return 0
            partly = np.flatnonzero(~mask.all(axis=1))
            if len(partly):
                finding = _divergence(m, mask, int(partly[0])) if mask[partly[0]].any() else (
                    Finding("barrier-divergence", m.here(),
                            "not all blocks reach this whole-grid barrier", m.who(m.mask))
                )  # fmt: skip
                raise Stop(finding)
        for told in m.events.barrier:
            told(m, None, True)
        return 0


@intrinsic("cg.this_grid")
def this_grid(m: Machine) -> GridGroup:
    """The group of all threads; the launch then runs all blocks together."""
    return GridGroup()

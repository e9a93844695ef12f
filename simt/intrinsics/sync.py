"""Synchronization: barriers of a block and of the grid, and memory fences."""

from typing import Any

import numpy as np

from simt.core.chunk import Who
from simt.core.findings import Finding, Stop
from simt.core.masks import EMPTY, Mask
from simt.core.registry import intrinsic
from simt.core.source import unit
from simt.core.values import Value, truth
from simt.machine.lockstep import Lockstep


def barrier(m: Lockstep) -> None:
    """`syncthreads`: all threads that have not left a block that arrives must arrive."""
    blocks: Any = None
    if m.mask is EMPTY:
        return
    if m.mask is not None:
        mask = m.spread(m.mask)
        arriving, complete = mask.any(axis=1), mask.all(axis=1)
        if (arriving & ~complete).any():
            _excuse(m, mask, arriving)
        blocks = None if arriving.all() else arriving.reshape(-1, 1)
    for callback in m.events.barrier:
        callback(m, blocks, False)


def returned(m: Lockstep) -> Any:
    """Which threads (blocks, threads per block) have returned from the kernel."""
    return _full_mask(m, m.frames[0].left)


def _full_mask(m: Lockstep, mask: Mask) -> Any:
    return m.spread(mask if isinstance(mask, np.ndarray) else mask is None)


def _excuse(m: Lockstep, mask: Any, blocks: Any) -> None:
    """Reports threads missing at a barrier that have left; stops the launch for others.

    CUDA C++ Programming Guide, "Compute Capability 7.x": since Volta a barrier succeeds when
    all threads of the block that have not exited have reached it.
    """
    exited = returned(m)
    missing = blocks.reshape(-1, 1) & ~mask
    if (missing & ~exited).any():
        raise Stop(_divergence(m, mask, missing & ~exited))
    seen, key = int(np.count_nonzero(missing)), ("left-before-barrier", m.line)
    if m.findings.again(key, seen):
        return
    block, other = (int(n[0]) for n in np.nonzero(missing))
    place = next(p for p, who in m.frames[0].exits.items() if _full_mask(m, who)[block, other])
    names = _pair(m, mask, block, other)
    words = m.pair_text(*names)
    line = unit(place)[1]
    count = np.count_nonzero(missing[block])
    message = (
        f"{count} of {m.threads} threads of the block returned before this barrier: {words[0]} "
        f"waits, {words[1]} left on line {line}. GPUs since Volta wait only for threads that have "
        "not left, older ones may hang: let every thread reach the barrier"
    )
    finding = Finding("left-before-barrier", m.here(), message, names, other_line=line, count=seen)
    m.note(key, finding)


def _pair(m: Lockstep, mask: Any, block: int, other: int) -> list[Who]:
    """A thread of a block that waits, and another of the block."""
    base = block * m.threads
    return [m.thread_name(base + int(np.flatnonzero(mask[block])[0])), m.thread_name(base + other)]


def _divergence(m: Lockstep, mask: Any, missing: Any) -> Finding:
    """Some threads of a block wait at a barrier, others of it are elsewhere."""
    block, other = (int(n[0]) for n in np.nonzero(missing))
    here = np.count_nonzero(mask[block])
    names = _pair(m, mask, block, other)
    words = m.pair_text(*names)
    message = (
        f"only {here} of {m.threads} threads of the block reach this barrier; the others took "
        f"another path: {words[0]} waits, {words[1]} does not come"
    )
    return Finding("barrier-divergence", m.here(), message, names)


intrinsic("syncthreads")(barrier)


def _per_block(m: Lockstep, predicate: Value, absent: bool = False) -> Any:
    """The predicate of each thread after a barrier; `absent` for threads that are not there."""
    barrier(m)
    return np.where(_full_mask(m, m.mask), truth(predicate), absent)


def _result(m: Lockstep, values: Any) -> Value:
    column = values.astype(np.int32).reshape(-1, 1)
    return column[0, 0] if len(column) == 1 else column


@intrinsic("syncthreads_count")
def syncthreads_count(m: Lockstep, predicate: Value) -> Value:
    """A barrier that tells how many threads of the block gave a true value."""
    return _result(m, np.count_nonzero(_per_block(m, predicate), axis=1))


@intrinsic("syncthreads_and")
def syncthreads_and(m: Lockstep, predicate: Value) -> Value:
    """A barrier that tells whether all threads of the block gave a true value."""
    return _result(m, _per_block(m, predicate, absent=True).all(axis=1))


@intrinsic("syncthreads_or")
def syncthreads_or(m: Lockstep, predicate: Value) -> Value:
    """A barrier that tells whether any thread of the block gave a true value."""
    return _result(m, _per_block(m, predicate).any(axis=1))


def fence(m: Lockstep, block_only: bool) -> None:
    """Makes the active threads' writes visible, to their blocks or to all, before later ones."""
    for callback in m.events.fence if m.mask is not EMPTY else ():
        callback(m, block_only)


intrinsic("threadfence", "threadfence_system")(lambda m: fence(m, False))
intrinsic("threadfence_block")(lambda m: fence(m, True))


@intrinsic("nanosleep")
def nanosleep(m: Lockstep, nanoseconds: Value) -> None:
    """Waits a moment; the machine has no clock."""


class GridGroup:
    """`cuda.cg.this_grid()`: all threads of the launch."""

    def kernel_sync(self, m: Lockstep) -> int:
        """A barrier of the whole grid.

        One thread of each block, its first, tells the other blocks (CUDA's `sync_grids`): the
        rest of a block may have left, but it may not.
        """
        mask = _full_mask(m, m.mask)
        if not mask.any():
            return 0
        if not mask.all():
            if not mask[:, 0].all():
                raise Stop(_one_block_short(m, mask))
            _excuse(m, mask, np.ones(m.blocks, bool))
        for callback in m.events.barrier:
            callback(m, None, True)
        return 0


def _one_block_short(m: Lockstep, mask: Any) -> Finding:
    """The first thread of a block does not come to the barrier of the grid."""
    first = m.thread_name(int(np.flatnonzero(~mask[:, 0])[0]) * m.threads)
    here = m.who(m.mask)[0]
    message = (
        "not all blocks reach this whole-grid barrier, to which all threads of the grid must "
        f"come: {m.text(here)} waits, {m.text(first)} does not come"
    )
    return Finding("barrier-divergence", m.here(), message, [here, first])


@intrinsic("cg.this_grid")
def this_grid(m: Lockstep) -> GridGroup:
    """The group of all threads; the launch then runs all blocks together."""
    return GridGroup()

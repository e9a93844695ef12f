"""Occupancy: how many blocks and warps of a kernel a multiprocessor holds at a time.

The rules are those of NVIDIA's occupancy calculator (`cuda_occupancy.h` of the CUDA toolkit; CUDA
C++ Programming Guide, "Compute Capabilities", for what there is of each resource).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import Multiprocessor, gpu_spec
from simt.core.findings import Stop
from simt.core.limits import check_shape
from simt.host.overloads import error_for

WARP = 32
REGISTER_UNIT = 256  # registers are handed out to a warp in units of so many
PARTS = 4  # of a multiprocessor, each with its own registers
MAX_REGISTERS = 255  # of a thread


def warps_held(block_size: int, most_threads: int, most_blocks: int) -> int:
    """How many warps a multiprocessor holds at a time, by its threads and its blocks alone.

    A block is held whole or not at all, and a warp that is not full takes the room of a full one.
    `most_threads`, a multiple of 32, and `most_blocks` are those that a multiprocessor holds.

    >>> [warps_held(size, most_threads=1024, most_blocks=16) for size in (32, 96, 256)]
    [16, 30, 32]
    """
    warps = (block_size + 31) // 32
    blocks = min(most_threads // 32 // warps, most_blocks)
    return blocks * warps


def blocks_that_fit(
    sm: Multiprocessor, threads: int, shared_bytes: int = 0, registers: int | None = None
) -> dict[str, int]:
    """How many blocks a multiprocessor could hold by each resource; the least is how many it does.

    `shared_bytes` are the static and dynamic ones of a block; registers that nobody knows, None,
    are left out.

    >>> from gpulearn.perf.gpus import HOPPER
    >>> blocks_that_fit(HOPPER, threads=128, shared_bytes=16_896, registers=229)
    {'threads': 16, 'blocks': 32, 'shared memory': 13, 'registers': 2}
    """
    warps = -(-threads // WARP)
    fits = {"threads": sm.threads // WARP // warps, "blocks": sm.blocks}
    # from capability 8.0 on the system takes 1 KB of each block
    system, unit = (1024, 128) if sm.capability >= (8, 0) else (0, 256)
    if allocated := _up(shared_bytes + system, unit):
        fits["shared memory"] = sm.shared_bytes // allocated
    if registers is not None:
        of_a_warp = _up(require.whole("registers", registers) * WARP, REGISTER_UNIT)
        possible = registers <= MAX_REGISTERS and of_a_warp * _up(warps, PARTS) <= sm.registers
        warps_each = sm.registers // PARTS // of_a_warp
        fits["registers"] = warps_each * PARTS // warps if possible else 0
    return fits


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit


@dataclass(frozen=True)
class Occupancy:
    """How a launch fills the multiprocessors of a GPU."""

    kernel: str
    gpu: str
    grid: int  # blocks
    threads: int  # of a block
    shared_bytes: int  # of a block, static and dynamic
    registers: int | None  # of a thread; None if nobody knows
    fits: Mapping[str, int]  # resource → how many blocks of a multiprocessor it is enough for

    @property
    def blocks(self) -> int:
        """That a multiprocessor holds at a time."""
        return min(self.fits.values())

    @property
    def warps(self) -> int:
        """That a multiprocessor holds at a time."""
        return self.blocks * -(-self.threads // WARP)

    @property
    def share(self) -> float:
        """Warps by those that a multiprocessor could hold: the occupancy."""
        return self.warps * WARP / gpu_spec(self.gpu).multiprocessor.threads

    @property
    def limits(self) -> tuple[str, ...]:
        """What holds it there: some of "threads", "blocks", "shared memory", "registers"."""
        return tuple(name for name, count in self.fits.items() if count == self.blocks)

    def __str__(self) -> str:
        count, sm = gpu_spec(self.gpu).multiprocessors, gpu_spec(self.gpu).multiprocessor
        has = {
            "threads": f"{self.threads:,} of a block, {sm.threads:,}",
            "blocks": str(sm.blocks),
            "shared memory": f"{self.shared_bytes:,} bytes of a block, {sm.shared_bytes:,}",
            "registers": f"{self.registers} of a thread, {sm.registers:,}",
        }
        article = "an" if self.gpu[0] in "AHLR" else "a"  # as their names are said
        lines = [
            f"{self.kernel} on {article} {self.gpu}: {self.blocks} block{'s' * (self.blocks != 1)}"
            f", {self.warps} of {sm.threads // WARP} warps ({self.share:.0%}) on a "
            f"multiprocessor; the limit is {' and '.join(self.limits)}."
        ]
        for name, blocks in self.fits.items():
            lines.append(f"  {name:13}  {blocks:>4}  {has[name]} of a multiprocessor")
        if self.registers is None:
            lines.append("  registers         ?  only the compiler knows: give registers=")
        at_once = self.blocks * count
        if self.grid < count:
            lines.append(f"{count - self.grid} of its {count} multiprocessors get no block.")
        elif at_once:
            waves = f"{self.grid / at_once:.3g} times the {at_once:,} that run at a time"
            lines.append(f"{self.grid:,} blocks are {waves}.")
        return "\n".join(lines)

    __repr__ = __str__


def occupancy(
    kernel: Any, grid: Any, block: Any, gpu: str = "T4", *, sharedmem: int = 0,
    registers: int | None = None,
) -> Occupancy:  # fmt: skip
    """How many blocks and warps of a launch a multiprocessor of a named GPU holds at a time.

    A kernel tells what it takes once it has been launched: shared memory anywhere, registers
    where the compiler has made code for a GPU. The most is taken of what its launches took.

    Args:
        kernel: as `cuda.jit` makes it, launched before; the launch may have another shape.
        grid: blocks of the launch.
        block: threads of a block.
        gpu: one of `gpulearn.perf.gpus.GPUS`.
        sharedmem: dynamic shared memory of a block, in bytes.
        registers: of a thread, if not what the compiler says; without either they set no limit.

    >>> from gpulearn import cuda
    >>> @cuda.jit
    ... def nothing(a):
    ...     pass
    >>> nothing[1, 32](3)
    >>> result = occupancy(nothing, 400, 96, "T4")
    >>> result.blocks, result.warps, result.limits
    (10, 30, ('threads',))
    """
    if not hasattr(kernel, "get_shared_mem_per_block"):
        raise BadInput(
            f"occupancy was given {require.shown(kernel)}: give it a kernel, as cuda.jit makes it."
        )
    static = _largest(kernel.get_shared_mem_per_block())
    if static is None:
        raise BadInput(
            f"{kernel.__name__} tells what it takes once it is compiled: launch it once, then ask."
        )
    if registers is None:
        with suppress(NotImplementedError):  # the SIMT machine compiles nothing
            registers = _largest(kernel.get_regs_per_thread())
    shared = static + require.from_zero("sharedmem", sharedmem)
    try:
        blocks, threads = map(math.prod, check_shape(grid, block, shared))
    except Stop as stop:
        raise error_for(stop.finding) from None
    fits = blocks_that_fit(gpu_spec(gpu).multiprocessor, threads, shared, registers)
    return Occupancy(kernel.__name__, gpu, blocks, threads, shared, registers, fits)


def _largest(answer: Any) -> int | None:
    """The most of what a kernel says for its signatures; None if it has none."""
    values = answer.values() if isinstance(answer, dict) else [answer]
    return max(map(int, values), default=None)

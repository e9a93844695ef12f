"""What a compiled kernel takes of a multiprocessor, how many blocks fit on one, and its code."""

from __future__ import annotations

import re
from typing import Any

from gpulearn import require
from gpulearn.perf.gpus import HOPPER

__all__ = ["blocks_that_fit", "machine_code", "resources"]

WARP = 32
# CUDA C++ Programming Guide, "Compute Capabilities", and "Occupancy" of the Best Practices Guide:
# registers are handed out to warps in units of 256, and each block takes 1 KB of shared memory
# for the system from capability 8.0 on
REGISTER_UNIT = 256
SYSTEM_SHARED = 1024
# an address in a comment, a predicate for some, the name, and a semicolon at the end
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)[^;/]*;")


def blocks_that_fit(
    registers: int,
    shared_bytes: int,
    threads: int,
    *,
    all_registers: int = HOPPER.registers,
    all_shared_bytes: int = HOPPER.shared_bytes,
    all_threads: int = HOPPER.threads,
    most_blocks: int = HOPPER.blocks,
) -> int:
    """How many blocks a multiprocessor holds at a time; it starts as an H200's.

    Args:
        registers: of a thread.
        shared_bytes: of a block.
        threads: of a block.
        all_registers: of the multiprocessor.
        all_shared_bytes: of the multiprocessor.
        all_threads: that the multiprocessor holds.
        most_blocks: that the multiprocessor holds.

    >>> blocks_that_fit(registers=229, shared_bytes=16_896, threads=128)
    2
    """
    warps = -(-require.whole("threads", threads) // WARP)
    of_a_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    return min(
        all_registers // of_a_warp // warps,
        all_shared_bytes // (shared_bytes + SYSTEM_SHARED),
        all_threads // WARP // warps,
        most_blocks,
    )


def resources(kernel: Any, threads: int) -> dict[str, int]:
    """Registers and memory of a kernel that numba has compiled, and what fits on this GPU.

    Args:
        kernel: launched before, so that it is compiled.
        threads: of a block.

    Returns:
        `registers` and `local_bytes` of a thread, `shared_bytes` of a block, and, where this
        numba tells what a multiprocessor has, the `blocks` and `warps` that it holds.

    Raises:
        AttributeError: the kernel is not numba's, or this numba does not tell.
    """
    found = {
        "registers": _only(kernel.get_regs_per_thread()),
        "shared_bytes": _only(kernel.get_shared_mem_per_block()),
        "local_bytes": _only(kernel.get_local_mem_per_thread()),
    }
    limits = _limits()
    if limits is None:
        return found
    blocks = blocks_that_fit(found["registers"], found["shared_bytes"], threads, **limits)
    return found | {"blocks": blocks, "warps": blocks * (-(-threads // WARP))}


def machine_code(kernel: Any) -> dict[str, int]:
    """How many instructions of some kinds a compiled kernel has, by nvdisasm.

    Args:
        kernel: launched before, so that it is compiled.

    Returns:
        `instructions`, `ffma`, `loads_of_16_bytes` from shared memory, and `spills`: loads and
        stores of local memory. They count what is written down, not what is carried out.

    Raises:
        Exception: the kernel is not numba's, or nvdisasm is not here.
    """
    answer = kernel.inspect_sass()
    text = next(iter(answer.values())) if isinstance(answer, dict) else answer
    names = [match[1] for match in INSTRUCTION.finditer(text)]
    return {
        "instructions": len(names),
        "ffma": sum(name.startswith("FFMA") for name in names),
        "loads_of_16_bytes": sum(name.startswith("LDS") and ".128" in name for name in names),
        "spills": sum(name.startswith(("LDL", "STL")) for name in names),
    }


def _limits() -> dict[str, int] | None:
    """What a multiprocessor of this GPU has, or None where this numba does not tell."""
    from numba import cuda

    gpu = cuda.get_current_device()
    try:
        return {
            "all_registers": gpu.MAX_REGISTERS_PER_MULTIPROCESSOR,
            "all_shared_bytes": gpu.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            "all_threads": gpu.MAX_THREADS_PER_MULTIPROCESSOR,
            "most_blocks": gpu.MAX_BLOCKS_PER_MULTIPROCESSOR,
        }
    except AttributeError:
        return None


def _only(answer: Any) -> int:
    """The answer for the one signature of a kernel; numba gives a dictionary by signature."""
    return int(next(iter(answer.values())) if isinstance(answer, dict) else answer)

"""What a compiled kernel takes of a multiprocessor, and its code."""

from __future__ import annotations

import re
from typing import Any

from gpulearn.perf.gpus import GPUS, Multiprocessor
from gpulearn.perf.occupancy import WARP, blocks_that_fit

__all__ = ["machine_code", "resources"]

# an address in a comment, a predicate for some, the name, and a semicolon at the end
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)[^;/]*;")


def resources(kernel: Any, threads: int) -> dict[str, int]:
    """Registers and memory of a kernel that numba has compiled, and what fits on this GPU.

    Args:
        kernel: launched before, so that it is compiled.
        threads: of a block.

    Returns:
        `registers` and `local_bytes` of a thread, `shared_bytes` of a block, and, where the table
        of GPUs has one like this, the `blocks` and `warps` that a multiprocessor holds.

    Raises:
        AttributeError: the kernel is not numba's, or this numba does not tell.
    """
    found = {
        "registers": _only(kernel.get_regs_per_thread()),
        "shared_bytes": _only(kernel.get_shared_mem_per_block()),
        "local_bytes": _only(kernel.get_local_mem_per_thread()),
    }
    one = _multiprocessor()
    if one is None:
        return found
    fits = blocks_that_fit(one, threads, found["shared_bytes"], found["registers"])
    blocks = min(fits.values())
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


def _multiprocessor() -> Multiprocessor | None:
    """What a multiprocessor of this GPU has, or None where no GPU of the table is like it."""
    from numba import cuda

    capability = tuple(cuda.get_current_device().compute_capability)
    all_of_them = (spec.multiprocessor for spec in GPUS.values())
    return next((one for one in all_of_them if one.capability == capability), None)


def _only(answer: Any) -> int:
    """The answer for the one signature of a kernel; numba gives a dictionary by signature."""
    return int(next(iter(answer.values())) if isinstance(answer, dict) else answer)

"""What a kernel can call, by family; importing this package registers all of them."""

from gpulearn.simt.intrinsics import (
    arrays,
    atomics,
    extras,
    functions,
    integer,
    libdevice,
    math,
    methods,
    reductions,
    sync,
    threads,
    warps,
)

__all__ = [
    "arrays", "atomics", "extras", "functions", "integer", "libdevice", "math", "methods",
    "reductions", "sync", "threads", "warps",
]  # fmt: skip

"""What a kernel can call, by family; importing this package registers all of them."""

from simt.intrinsics import (
    arrays,
    atomics,
    cache_hints,
    functions,
    half,
    integer,
    libdevice,
    math,
    methods,
    reductions,
    sync,
    threads,
    vectors,
    warps,
)

__all__ = [
    "arrays", "atomics", "cache_hints", "functions", "half", "integer", "libdevice", "math",
    "methods", "reductions", "sync", "threads", "vectors", "warps",
]  # fmt: skip

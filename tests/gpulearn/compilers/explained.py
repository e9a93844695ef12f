"""Where the compiler's code counts something else than the lines of a kernel, and why.

The SIMT machine counts what the source says; the compiler may do less, or do it in another
order. The differences are the package's own, which explain Nsight Compute's counters as well. A
test holds each of them against the PTX; what is not among them must be equal to the last unit.
"""

from __future__ import annotations

from tools.gpu.counters.reasons import BY_PTX, Difference

EXPLAINED = BY_PTX


def explained() -> dict[tuple[str, str], Difference]:
    """The differences by kernel and counter."""
    return {(d.kernel, counter): d for d in EXPLAINED for counter in d.counters}

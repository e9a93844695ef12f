"""Counters of the SIMT machine that cannot be a GPU's, kernel by kernel, and why.

The machine counts the accesses of the source; the hardware carries out what the compiler made
of them. A counter that differs without a reason here is a fault of the machine, or of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Difference:
    """A counter of a kernel that the compiler's code changes.

    Attributes:
        kernel: its name.
        counters: of the SIMT machine.
        more: whether the compiler's code has more of them; else fewer.
        reason: what the compiler did.
        shows: how many instructions the code has whose names begin so.
    """

    kernel: str
    counters: tuple[str, ...]
    more: bool
    reason: str
    shows: Mapping[str, int] = field(default_factory=dict, hash=False)


LOADS = ("global_load_requests", "global_load_sectors")
STORES = ("global_store_requests", "global_store_sectors")
TWICE = (*LOADS, "bytes_requested")  # where one load stands for two
FLOPS = ("flops32",)
UNROLLED = (
    "the loop is unrolled by four, and the turns that are left over come first, in a loop of "
    "their own: lanes of one warp with different numbers of turns then stand at different turns, "
    "so that their requests join or part in another way"
)
DIVISION = "a division is no addition or multiplication: the machine code makes several of each"
ROOT = "a square root is no addition or multiplication: the machine code makes several of each"
EXPONENTIAL = (
    "exp is an addition, four multiply-adds and a multiplication around the hardware's power of "
    "two, and a division is not among the additions and multiplications"
)

# what the PTX of each kernel shows; `tests/simt/ptx` holds it against the PTX
BY_PTX = (
    Difference("saxpy_grid_stride", (*LOADS, *STORES), True, UNROLLED,
               {"ld.global": 10, "st.global": 5}),
    Difference("copy_in_runs", (LOADS[0], STORES[0]), True, UNROLLED,
               {"ld.global": 5, "st.global": 5}),
    Difference("copy_coalesced", (LOADS[1], STORES[1]), True, UNROLLED,
               {"ld.global": 5, "st.global": 5}),
    Difference("grid_sum_atomic", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
    Difference("grid_sum_cooperative", ("global_load_sectors",), True, UNROLLED,
               {"ld.global": 10}),
    Difference("histogram_shared", LOADS, True, UNROLLED, {"ld.global": 5}),
    Difference("case_histogram", LOADS, True, UNROLLED, {"ld.global": 5}),
    Difference("soa_norms", TWICE, False,
               "x[i] stands twice in x[i] * x[i], and is loaded once", {"ld.global": 3}),
    Difference("smooth_block", FLOPS, False, DIVISION, {"div": 3}),
    Difference("soa_norms", FLOPS, False, ROOT, {"sqrt": 1}),
    Difference("softmax_rows", FLOPS, True, EXPONENTIAL, {"ex2": 10, "fma": 45, "div": 5}),
    Difference("row_sums", FLOPS, True, EXPONENTIAL, {"ex2": 5, "fma": 20}),
    Difference("row_shares", FLOPS, False, DIVISION, {"div": 5}),
    Difference("online_softmax", FLOPS, True, EXPONENTIAL, {"ex2": 25, "fma": 110, "div": 5}),
    Difference("fused_normalize", FLOPS, False, DIVISION, {"div": 7, "sqrt": 1}),
    Difference("attention_tiled", FLOPS, True, EXPONENTIAL, {"ex2": 2, "fma": 48, "div": 3}),
)  # fmt: skip

# what the machine code shows beyond that, as nvdisasm printed it for an H100 in 2026
WIDENED = (
    "four neighbors in a row of the tile of A are read by one instruction of 16 bytes: all lanes "
    "of a warp share it, and it takes two passes where four instructions take four"
)
BY_MACHINE_CODE = (
    Difference("matmul_tiled", ("shared_load_wavefronts",), False, WIDENED,
               {"LDS.128": 8, "LDS ": 32}),
    Difference("matmul_warp_tiles", ("shared_load_wavefronts",), False,
               "four neighbors in a row of either tile are read by one instruction of 16 bytes, "
               "which pairs of lanes share: it takes half the passes of four instructions",
               {"LDS.128": 60, "LDS ": 0}),
    Difference("grid_sum_cooperative", (*LOADS, *STORES), True,
               "the grid's barrier is a call into the driver, which waits by accesses of its own; "
               f"and {UNROLLED}",
               {"CALL.ABS.NOINC `(cudaCGSynchronize)": 1}),
)  # fmt: skip

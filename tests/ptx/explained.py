"""Where the compiler's code counts something else than the lines of a kernel, and why.

The SIMT machine counts what the source says; the compiler may do less, or do it in another
order. Each difference names the kernel, the counters, whether the compiler's code has more of
them or fewer, and what in the PTX shows the reason: how many instructions there are whose
names begin so. A test holds each of them against the PTX; what is not in this table must be
equal to the last unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Difference:
    """A counter of a kernel that the compiler's code changes."""

    kernel: str
    counters: tuple[str, ...]
    more: bool  # whether the PTX has more of them; else fewer
    reason: str
    shows: dict[str, int] = field(default_factory=dict, hash=False)  # start of a name -> how many


LOADS = ("global_load_requests", "global_load_sectors")
TWICE = (*LOADS, "bytes_requested")  # where one load stands for two
STORES = ("global_store_requests", "global_store_sectors")
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

EXPLAINED = (
    Difference("saxpy_grid_stride", (LOADS[1], STORES[1]), True, UNROLLED,
               {"ld.global": 10, "st.global": 5}),
    Difference("copy_in_runs", (*LOADS, *STORES), True, UNROLLED,
               {"ld.global": 5, "st.global": 5}),
    Difference("copy_coalesced", (*LOADS, *STORES), True, UNROLLED,
               {"ld.global": 5, "st.global": 5}),
    Difference("sum_blocks", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
    Difference("grid_sum_atomic", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
    Difference("grid_sum_cooperative", ("global_load_sectors",), True, UNROLLED,
               {"ld.global": 10}),
    Difference("histogram_shared", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
    Difference("grid_sum_cooperative", ("barriers",), False,
               "the grid's barrier is a call into CUDA's library, and no barrier instruction of "
               "the kernel; the library's own barriers and loads come on top",
               {"bar.sync": 2, "call": 2}),
    Difference("stripes", LOADS, False,
               "both branches load the same element: one load before the branch serves both",
               {"ld.global": 1}),
    Difference("soa_norms", TWICE, False,
               "x[i] stands twice in x[i] * x[i], and is loaded once", {"ld.global": 3}),
    Difference("argmax_rows", TWICE, False,
               "scores[row, j] stands in the comparison and in the assignment, and is loaded once",
               {"ld.global": 5}),
    Difference("grey_interleaved", FLOPS, False, DIVISION, {"div": 1}),
    Difference("grey_planes", FLOPS, False, DIVISION, {"div": 1}),
    Difference("aos_norms", FLOPS, False, ROOT, {"sqrt": 1}),
    Difference("soa_norms", FLOPS, False, ROOT, {"sqrt": 1}),
    Difference("softmax_rows", FLOPS, True, EXPONENTIAL, {"ex2": 10, "fma": 45, "div": 5}),
    Difference("softmax_unsafe", FLOPS, True, EXPONENTIAL, {"ex2": 10, "fma": 45, "div": 5}),
    Difference("descend_all", FLOPS, False,
               "a multiply-add rounds once where the source rounds twice: a start that is near a "
               "limit takes a step more or less", {"fma": 8}),
)  # fmt: skip


def explained() -> dict[tuple[str, str], Difference]:
    """The differences by kernel and counter."""
    return {(d.kernel, counter): d for d in EXPLAINED for counter in d.counters}

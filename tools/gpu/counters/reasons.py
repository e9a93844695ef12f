"""Why a counter of the SIMT machine cannot be equal to Nsight Compute's, kernel by kernel.

The machine counts the accesses of the source; the hardware carries out what the compiler made
of them. A reason names what that is and what in the compiler's code shows it. A counter that
differs without a reason here is a fault of the machine, or of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.gpu.counters.metrics import EXCESS

__all__ = ["BY_MACHINE_CODE", "BY_PTX", "Difference", "explained", "reason"]


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

# what carrying out the PTX of every kernel has shown; `tests/gpulearn/compilers` holds it
# against the PTX
BY_PTX = (
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
    Difference("grid_sum_last", LOADS, True, UNROLLED, {"ld.global": 10}),
    Difference("histogram_shared", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
    Difference("case_histogram", ("global_load_sectors",), True, UNROLLED, {"ld.global": 5}),
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
    Difference("smooth_block", FLOPS, False, DIVISION, {"div": 3}),
    Difference("aos_norms", FLOPS, False, ROOT, {"sqrt": 1}),
    Difference("soa_norms", FLOPS, False, ROOT, {"sqrt": 1}),
    Difference("softmax_rows", FLOPS, True, EXPONENTIAL, {"ex2": 10, "fma": 45, "div": 5}),
    Difference("softmax_unsafe", FLOPS, True, EXPONENTIAL, {"ex2": 10, "fma": 45, "div": 5}),
    Difference("row_sums", FLOPS, True, EXPONENTIAL, {"ex2": 5, "fma": 20}),
    Difference("row_shares", FLOPS, False, DIVISION, {"div": 5}),
    Difference("online_softmax", FLOPS, True, EXPONENTIAL, {"ex2": 25, "fma": 110, "div": 5}),
    Difference("row_means", FLOPS, False, DIVISION, {"div": 1}),
    Difference("row_variances", FLOPS, False, DIVISION, {"div": 1}),
    Difference("normalise_rows", FLOPS, False, DIVISION, {"div": 5, "sqrt": 1}),
    Difference("fused_normalise", FLOPS, False, DIVISION, {"div": 7, "sqrt": 1}),
    Difference("attention_tiled", FLOPS, True, EXPONENTIAL, {"ex2": 2, "fma": 48, "div": 3}),
    Difference("descend_all", FLOPS, False,
               "a multiply-add rounds once where the source rounds twice: a start that is near a "
               "limit takes a step more or less", {"fma": 8}),
)  # fmt: skip

# what the machine code shows beyond that; a test holds it against what nvdisasm prints
WIDENED = (
    "four neighbours in a row of the tile of A are read by one instruction of 16 bytes: all lanes "
    "of a warp share it, and it takes two passes where four instructions take four"
)
BY_MACHINE_CODE = (
    Difference("matmul_tiled", ("shared_load_wavefronts",), False, WIDENED,
               {"LDS.128": 8, "LDS ": 32}),
    Difference("matmul_warp_tiles", ("shared_load_wavefronts",), False,
               "four neighbours in a row of either tile are read by one instruction of 16 bytes, "
               "which pairs of lanes share: it takes half the passes of four instructions",
               {"LDS.128": 60, "LDS ": 0}),
    Difference("grid_sum_cooperative", (*LOADS, *STORES), True,
               "the grid's barrier is a call into the driver, which waits by accesses of its own; "
               f"and {UNROLLED}",
               {"CALL.ABS.NOINC `(cudaCGSynchronize)": 1}),
)  # fmt: skip

ATOMICS = ("shared_atom", "shared_atom_dot_alu", "shared_atom_dot_cas")


def explained() -> dict[tuple[str, str], Difference]:
    """The differences by kernel and counter."""
    every = (*BY_PTX, *BY_MACHINE_CODE)
    return {(d.kernel, counter): d for d in every for counter in d.counters}


def reason(
    kernel: str,
    counter: str,
    machine: Mapping[str, int],
    theirs: float,
    measured: Mapping[str, float | None],
) -> str:
    """Why the counter differs, or "".

    Besides what is written down here there is one reason that a measurement gives: the counter
    of bank conflicts also holds passes that waited for the data path for another reason, so it
    can be too high. Nsight Compute works out the passes of each instruction from its addresses
    as well. Where those beyond the ideal are as many as the machine's conflicts, the rest is
    waiting.

    Args:
        kernel: its name.
        counter: of the machine.
        machine: all its counters.
        theirs: what Nsight Compute says.
        measured: all of Nsight Compute's metrics.

    >>> reason("tile", "shared_load_conflicts",
    ...     {"shared_load_conflicts": 31, "shared_store_conflicts": 0}, 35,
    ...     {"memory_l1_wavefronts_shared": 64, "memory_l1_wavefronts_shared_ideal": 33})
    "passes beyond the ideal by the instructions' addresses are 31, the machine's number: the ..."
    """
    known = explained().get((kernel, counter))
    if known is not None and (theirs > machine[counter]) == known.more:
        return known.reason
    passes, ideal = (measured.get(name) for name in EXCESS)
    if not counter.endswith("_conflicts") or passes is None or ideal is None:
        return ""
    if theirs < machine[counter]:
        return ""
    if any(measured.get(f"smsp__inst_executed_op_{name}.sum") for name in ATOMICS):
        return ""  # their passes are among those of the instructions
    conflicts = machine["shared_load_conflicts"] + machine["shared_store_conflicts"]
    if conflicts != passes - ideal:
        return ""
    return (
        f"passes beyond the ideal by the instructions' addresses are {conflicts:,}, the "
        "machine's number: the counter holds passes that waited for something else as well"
    )

"""Why a counter of the SIMT machine cannot be equal to Nsight Compute's, case by case.

The machine counts the accesses of the source; the hardware carries out what the compiler made
of them. A reason says what that is, as the disassembly shows it (`gpulearn.hardware.disassembly`
prints it). A counter that differs without a reason here is a fault of the machine, or of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpulearn.hardware.metrics import COMPARED, EXCESS

__all__ = ["EXPLAINED", "reason"]

# (name of a case or of a kernel, counter) -> reason
EXPLAINED: dict[tuple[str, str], str] = {}

ATOMICS = ("shared_atom", "shared_atom_dot_alu", "shared_atom_dot_cas")


def reason(
    case: str,
    kernel: str,
    counter: str,
    machine: Mapping[str, int],
    measured: Mapping[str, float | None],
) -> str:
    """Why the counter differs, or "".

    Besides what is written down in `EXPLAINED` there is one reason that a measurement gives:
    the counter of bank conflicts also holds passes that waited for the data path for another
    reason, so it can be too high. Nsight Compute works out the passes of each instruction from
    its addresses as well. Where those beyond the ideal are as many as the machine's conflicts,
    the rest is waiting.

    >>> reason("tile", "tile", "shared_load_conflicts",
    ...     {"shared_load_conflicts": 31, "shared_store_conflicts": 0},
    ...     {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 35,
    ...      "memory_l1_wavefronts_shared": 64, "memory_l1_wavefronts_shared_ideal": 33})
    "passes beyond the ideal by the instructions' addresses are 31, the machine's number: the ..."
    """
    for name in (case, kernel):
        if (name, counter) in EXPLAINED:
            return EXPLAINED[name, counter]
    theirs, passes, ideal = (measured.get(name) for name in (COMPARED[counter], *EXCESS))
    if not counter.endswith("_conflicts") or theirs is None or passes is None or ideal is None:
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

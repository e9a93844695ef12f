"""Which of Nsight Compute's metrics is held against which counter of the SIMT machine.

The names are those of "Nsight Compute CLI", its table of nvprof's metrics and their successors,
and of the "Kernel Profiling Guide", which defines request, sector and wavefront. Which names a
chip knows differs: `tools.gpu.counters.ncu` asks before it uses them.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["BESIDE", "COMPARED", "EVIDENCE", "EXCESS", "GROUPS", "base", "total"]

_T = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"

# counter of the machine -> metric; these are to be equal to the last unit
COMPARED = {
    "global_load_requests": _T.format("requests", "ld"),
    "global_load_sectors": _T.format("sectors", "ld"),
    "global_store_requests": _T.format("requests", "st"),
    "global_store_sectors": _T.format("sectors", "st"),
    "shared_load_wavefronts": _WAVES.format("ld"),
    "shared_load_conflicts": _CONFLICTS.format("ld"),
    "shared_store_wavefronts": _WAVES.format("st"),
    "shared_store_conflicts": _CONFLICTS.format("st"),
}

# counter of the machine -> metrics, with how often each counts; what they count is not the
# same: a statement is several instructions, and a division is several operations
BESIDE: dict[str, dict[str, int]] = {
    "instructions": {"smsp__inst_executed.sum": 1},
    "active_lanes": {"smsp__thread_inst_executed.sum": 1},
    "divergent_branches": {"smsp__sass_branch_targets_threads_divergent.sum": 1},
    "flops32": {_SASS.format("fadd"): 1, _SASS.format("fmul"): 1, _SASS.format("ffma"): 2},
    "flops64": {_SASS.format("dadd"): 1, _SASS.format("dmul"): 1, _SASS.format("dfma"): 2},
}

# passes of shared memory over those that the instructions need at best, as Nsight Compute
# works them out from the addresses of each instruction: loads, stores and atomics together
EXCESS = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")

# what the machine does not count, and what shows why a counter differs
EVIDENCE = (
    "smsp__sass_inst_executed_op_global_atom.sum",
    *(f"smsp__inst_executed_op_{name}.sum" for name in (
        "global_ld", "global_st", "global_red", "shared_ld", "shared_st",
        "shared_atom", "shared_atom_dot_alu", "shared_atom_dot_cas", "local_ld", "local_st",
    )),
    *(_T.format("requests", op) for op in ("atom", "red")),
    *(f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st")),
    *(f"smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"
      for op in ("ld", "st")),
    *EXCESS,
    "launch__registers_per_thread",
)  # fmt: skip

_BESIDE = [name for parts in BESIDE.values() for name in parts]

# the first is measured for every case, the others, which take longer, where a counter differs
GROUPS = (
    (*COMPARED.values(), *_BESIDE[:2]),
    tuple(_BESIDE[2:]),
    EVIDENCE,
)


def base(metric: str) -> str:
    """A metric's name as `ncu --query-metrics` lists it: without its ".sum".

    >>> base("smsp__inst_executed.sum")
    'smsp__inst_executed'
    """
    return metric.partition(".")[0]


def total(values: Mapping[str, float | None], parts: Mapping[str, int]) -> float | None:
    """The sum of metrics times how often each counts, or None where one is missing.

    >>> total({"a": 3, "b": 5}, {"a": 1, "b": 2}), total({"a": 3}, {"a": 1, "b": 2})
    (13, None)
    """
    found = [(values.get(name), times) for name, times in parts.items()]
    if any(value is None for value, _ in found):
        return None
    return sum(value * times for value, times in found if value is not None)

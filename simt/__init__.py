"""The SIMT machine: ordinary Numba CUDA kernels, on any computer, for all threads at once.

A folder may use those below it, never one above:

| folder | what it holds |
|---|---|
| `host` | `numba.cuda`'s API: launches, device arrays, ufuncs; `xray`; `work/` on streams |
| `report` | what a launch left: text, HTML, JSON |
| `compiled` | unchecked launches that take long, by Numba's CPU compiler |
| `frontend` | a kernel's source, checked by Numba, translated into a program |
| `intrinsics` | what a kernel can call, by family |
| `machine` | lockstep execution under a mask: control flow, indexing, memory |
| `observers` | counters, race detection, initialised memory, the trace |
| `core` | values, masks, memory, sources, findings, limits |

The order of a launch `kernel[grid, block](*args)`: `host.work.launches` checks its shape and takes
the arguments; for new types of them `host.overloads` compiles: `frontend.program` translates and
fixes what names stand for, `frontend.typecheck` asks Numba whether this is a kernel;
`machine.execution` runs it, chunk by chunk of blocks, on a `machine.machine.Machine`, which tells
the observers of each event; what they and the machine found becomes a `report`, a warning or an
error. A launch that is not checked, and on which the machine spends more than a second, goes on
as compiled code.
"""

import os

# files with the PTX of known sources in CUDA C++, for where no compiler is
stored_ptx: list[str] = []

# packages that are machinery, each with its folder: their frames are no program's, and they meet
# Numba itself where a program meets the machine
internal = {__name__: os.path.dirname(__file__)}  # noqa: PTH120 - pathlib takes longer to load

"""How long work took, how long it could take at best, and where each number comes from.

- measured: `timing`, which also tells whether other programs disturbed, and `measured_roof`,
  this computer's own roofline;
- recorded: `recordings` reads and writes what `make gpu` measures on a GPU;
- modeled: `gpus` (data sheets), `roofline`, `occupancy`, `estimates` and `schedule` (from what
  the SIMT machine counts), `operation_costs` (of a graph).

`series` holds times with their provenance, so that the three are never mixed up; `matmul_times`
chooses among them for the matrix product.
"""

from gpulearn.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)

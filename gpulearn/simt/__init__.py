"""The SIMT machine: ordinary Numba CUDA kernels, on any computer, for all threads at once.

From a function to something that runs:

- `source` finds the text, `names` what its names mean, `scope`, `expressions` and `translate`
  turn it into a Python function over arrays (`joins`: with the types that variables have,
  `paths`: with a watch on those that a path may not have set);
- `verdict` asks Numba whether it is a kernel at all, with its code `rebound` to Numba's names
  (which is also how it becomes PTX); `reasons` says why not, in the words of `phrases`;
- `program` holds a kernel with its device functions, `launch` runs a grid of them.

The executor, one layer on the other: `chunk` (the threads), `indexing`, `own_arrays`,
`access` (memory), `logic` (masks, branches), `machine` (functions, attributes), with `flow`
for loops, `masks`, `values` and `arithmetic` for numbers, `memory` for arrays, `choice`.

What a kernel can call: `threads`, `warps`, `atomics`, `arrays`, `functions`, `mathematics`,
`extras`. What is seen: `order`, `shadow` and `hazards` (races), `counters` and `traffic`,
`trace` (steps), `idle` (lines that do nothing), `findings` and `log`, `report` with
`report_text` and `report_html`.

The host's side: `lookalike` (all of `cuda.…`), `dispatch`, `arguments`, `devicearray`,
`streams`, `devices`, `ufuncs`, `limits`, `settings`; `xray` puts a launch under the lens.
"""

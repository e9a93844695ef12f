"""The SIMT machine: ordinary Numba CUDA kernels, on any computer, for all threads at once.

A launch goes through its folders from the top: `host` (numba.cuda's API: `api`, `dispatcher`,
`xray`), `frontend` (source, Numba's verdict, translation into a Python function over arrays),
`intrinsics` (what a kernel can call), `machine` (lockstep execution under a mask), `observers`
(counters, races, uninitialised memory, trace), `core` (values, masks, memory, findings). What
it left behind is a `report`.
"""

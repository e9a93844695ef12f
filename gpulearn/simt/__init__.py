"""The SIMT machine: ordinary Numba CUDA kernels, on any computer, for all threads at once.

Read it in this order:

- `source` finds a kernel's text, `names` what its names mean, `translate` turns it into a
  Python function over arrays; `verdict` asks Numba whether it is a kernel at all;
- `machine` carries that function out under active masks (`masks`, `flow`), with numbers as
  Numba types them (`values`), and reads and writes memory (`access`, `memory`);
- `threads`, `warps`, `atomics`, `arrays`, `functions` are what a kernel can call;
- `hazards` sees races, `counters` counts traffic, `findings` and `report` say it;
- `launch` runs a grid; `dispatch`, `devicearray`, `arguments`, `ufuncs` and `lookalike` are
  the host's side; `xray` puts a launch under the lens.
"""

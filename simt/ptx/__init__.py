"""PTX on the SIMT machine: what a CUDA compiler made of a kernel, carried out on any computer.

`parse` takes the text apart, `translate` makes Python functions over arrays of its basic blocks,
`machine` carries them out under a mask with the SIMT machine's memory, race detection and counters;
`launch` is the way in.
"""

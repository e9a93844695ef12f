"""Whole CUDA C++ programs: the host part compiled here, the kernels on the SIMT machine."""

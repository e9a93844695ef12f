"""CUDA C++ without a GPU: `cpp(source)` compiles it, and its kernels launch as Numba's do."""

from simt.cpp.module import CppKernel, CppModule, cpp

__all__ = ["CppKernel", "CppModule", "cpp"]

"""PTX to be read, and variables that the kernels of a source share."""

import numpy as np
import pytest

from simt.cpp import cpp

pytestmark = pytest.mark.usefixtures("_nvrtc")

SOURCE = r"""
__constant__ float factor;
__device__ int calls;

template <typename T>
__global__ void scale(T* x)
{
    atomicAdd(&calls, 1);
    x[threadIdx.x] = factor * x[threadIdx.x];
}

__global__ void call() { atomicAdd(&calls, 1); }
"""


def test_each_instruction_stands_once_and_under_its_line() -> None:
    kernel = cpp(SOURCE)["scale<float>"]
    lines = repr(kernel.ptx).splitlines()
    instructions = [line for line in lines if line.startswith(" " * 10)]
    assert len(instructions) == kernel.ptx.count("") == len(kernel.function.instructions)
    product = next(i for i, line in enumerate(lines) if "mul.f32" in line)
    heads = [line for line in lines[:product] if not line.startswith(" " * 10)]
    assert heads[-1].split() == ["9", *SOURCE.splitlines()[8].split()]
    assert kernel.ptx.count("mul.f32") == 1
    assert not any("calls" in line for line in lines if line.startswith("  9"))


def test_templates_and_kernels_of_a_source_have_the_same_variables() -> None:
    module = cpp(SOURCE)
    before = module["scale<float>"]  # compiled before the variable is written
    module.write("factor", np.float32(3))
    for kernel, dtype in ((before, np.float32), (module["scale<int>"], np.int32)):
        x = np.ones(4, dtype)
        kernel[1, 4](x)
        assert x.tolist() == [3] * 4
    module["call"][1, 1]()
    assert module.read("calls", np.int32) == 9

"""`gl.check` on a computer with a GPU: an answer that is right on the machine runs there too."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.judge import launches
from gpulearn.kernels.blocks import BLOCK, reverse_block
from gpulearn.kernels.vectors import vector_add

pytestmark = pytest.mark.usefixtures("_as_on_gpu")
RIGHT = {"vector_add": vector_add, "reverse_block": reverse_block}


@pytest.fixture
def trials(monkeypatch):
    """How many launches have been tried on the GPU."""
    seen = []

    def counted(*args):
        seen.append(args)
        return plain(*args)

    plain = launches.on_gpu
    monkeypatch.setattr(launches, "on_gpu", counted)
    return seen


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_after_it_has_run_on_the_gpu(name, trials):
    gl.check(name, RIGHT[name])
    assert len(trials) > 2


def test_an_answer_with_a_race_never_gets_to_the_gpu(trials):
    @cuda.jit
    def torn(a):
        stretch = cuda.shared.array(BLOCK, "float32")
        t = cuda.threadIdx.x
        start = cuda.blockIdx.x * BLOCK
        length = min(BLOCK, a.size - start)
        if t < length:
            stretch[t] = a[start + t]
            a[start + t] = stretch[length - 1 - t]

    with pytest.raises(gl.errors.WrongAnswer):
        gl.check("reverse_block", torn)
    assert not trials


def test_an_answer_that_differs_on_the_gpu_is_told(trials, monkeypatch):
    @cuda.jit
    def mine(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    right = launches.on_gpu  # here it counts as well

    def off(answer, launch):
        if answer is mine:
            return tuple(result + 1 for result in right(answer, launch))
        return tuple(np.zeros_like(launch.args[place]) for place in launch.results)

    gl.check("vector_add", mine)
    monkeypatch.setattr(launches, "on_gpu", off)
    with pytest.raises(gl.errors.WrongAnswer, match="on the GPU its result is another"):
        gl.check("vector_add", mine)
    assert trials

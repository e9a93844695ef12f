"""Banks by stride, offset and size of a word, held against the machine that counts them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn import cuda
from gpulearn_lessons.shared_memory.banks import BankRequest, draw


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_conflicts_are_the_common_divisor_with_32(stride, offset):
    expected = np.gcd(stride, 32) - 1 if stride else 0
    assert BankRequest(stride, offset).conflicts == expected


WORDS = 33 * 31 + 8


@cuda.jit
def read_by_stride(stride, offset, out):
    words = cuda.shared.array(WORDS, np.float32)
    t = cuda.threadIdx.x
    for k in range(t, WORDS, 32):
        words[k] = k
    cuda.syncwarp()
    out[t] = words[offset + stride * t]


@pytest.mark.parametrize(("stride", "offset"), [(0, 3), (1, 1), (2, 0), (12, 7), (32, 5), (33, 7)])
def test_a_launch_counts_the_same(stride, offset):
    out = cuda.to_device(np.zeros(32, np.float32))
    counts = gl.xray(read_by_stride)[1, 32](stride, offset, out).arrays["words"]
    request = BankRequest(stride, offset)
    assert counts.shared_load_conflicts == request.conflicts
    assert counts.shared_load_wavefronts == request.passes


def test_words_of_other_sizes():
    assert BankRequest(1, 0, 8).passes == BankRequest(1, 0, 8).least == 2
    assert BankRequest(32, 0, 8).conflicts == 30
    assert BankRequest(1, 0, 2).passes == 1  # two lanes share a cell
    assert BankRequest(1, 0, 2).banks == 16


def test_the_sentence_says_what_the_picture_shows():
    picture, text = draw(32, 3, 4)
    assert text.endswith("the warp reads 1 of 32 banks in 32 passes: 31 bank conflicts.")
    assert "are in 1 column, so it takes 32 passes" in picture.alt
    assert draw(33, 0, 4)[1].endswith("32 of 32 banks in 1 pass: no bank conflict.")
    assert "(2 at best for words of 8 bytes): no bank conflict" in draw(1, 0, 8)[1]

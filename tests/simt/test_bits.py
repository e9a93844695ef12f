"""libdevice's reinterpretations: the same bits as another type."""

import numpy as np
from numba.cuda import libdevice

import simt
from simt import cuda


def split(words, parts):
    parts[0] = libdevice.int_as_float(words[0])
    parts[1] = libdevice.int_as_float(words[0] >> 32)


def join(parts, words):
    low = np.int64(libdevice.float_as_int(parts[0])) & 0xFFFFFFFF
    words[0] = np.int64(libdevice.float_as_int(parts[1])) << 32 | low


def wide(doubles, words):
    words[0] = libdevice.double_as_longlong(doubles[0])
    doubles[1] = libdevice.longlong_as_double(words[0])


def test_a_word_comes_apart_into_two_floats_and_back():
    floats = np.array([-1.5, 3.25], np.float32)
    parts, words = np.zeros(2, np.float32), np.zeros(1, np.int64)
    report = simt.xray(split)[1, 1](floats.view(np.int64), parts)
    np.testing.assert_array_equal(parts, floats)
    assert report.totals.flops32 == report.totals.flops64 == 0
    simt.xray(join)[1, 1](parts, words)
    np.testing.assert_array_equal(words.view(np.float32), floats)


def test_a_double_is_its_bits():
    doubles, words = np.array([-0.1, 0.0]), np.zeros(1, np.int64)
    simt.xray(wide)[1, 1](doubles, words)
    assert words[0] == doubles[:1].view(np.int64)[0]
    assert doubles[1] == -0.1


@cuda.jit
def zeros_before(x, out):
    out[0] = cuda.clz(x[0] > 0)
    out[1] = cuda.clz(x[0] > 9)


def test_a_bool_has_eight_bits():
    out = np.zeros(2, np.int64)
    simt.xray(zeros_before)[1, 1](np.ones(1), out)
    assert out.tolist() == [7, 8]

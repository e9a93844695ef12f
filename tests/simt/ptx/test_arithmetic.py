"""The arithmetic of the executor against exact numbers and plain Python."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simt.ptx.arithmetic import compare, convert, fused, operation


def compute(op: tuple[str, ...], given_: list[np.ndarray]) -> np.ndarray:
    return operation(op)(*given_)


floats = st.floats(-(2.0**60), 2.0**60, width=32)


@given(floats, floats, floats, st.sampled_from(["rn", "rm", "rz", "rp"]))
def test_a_multiply_add_rounds_the_exact_value_once(
    a: float, b: float, c: float, mode: str
) -> None:
    x, y, z = (np.array([v], np.float32) for v in (a, b, c))
    with np.errstate(all="ignore"):
        got = fused(x, y, z, mode)[0]
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    below, above = (Fraction(float(np.nextafter(got, np.float32(s)))) for s in (-np.inf, np.inf))
    value = Fraction(float(got))
    if mode == "rn":
        assert abs(value - exact) <= min(abs(below - exact), abs(above - exact))
    else:
        down = mode == "rm" or (mode == "rz" and exact > 0)
        assert value <= exact < above if down else below < exact <= value


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_integers(a: int, b: int) -> None:
    def of(name: str) -> int:
        return int(compute((name, "s64"), [np.array([a]), np.array([b])])[0])

    with np.errstate(all="ignore"):
        wrapped = {"add": a + b, "sub": a - b, "and": a & b, "or": a | b, "xor": a ^ b}
        for name, value in wrapped.items():
            assert (of(name) - value) % 2**64 == 0
        if b and not (a == -(2**63) and b == -1):
            assert of("div") == int(Fraction(a, b))  # towards zero
            assert of("rem") == a - b * int(Fraction(a, b))
        high = compute(("mul", "hi", "s64"), [np.array([a]), np.array([b])])
        assert int(high[0]) == (a * b) >> 64


@given(st.integers(0, 2**32 - 1), st.integers(0, 80), st.integers(0, 31), st.integers(0, 32))
def test_bits(a: int, shift: int, start: int, length: int) -> None:
    word, n = np.array([a], np.uint32), np.array([shift], np.uint32)
    signed = a - 2**32 if a >= 2**31 else a
    assert int(compute(("shl", "b32"), [word, n])[0]) == (a << shift) % 2**32
    assert int(compute(("shr", "u32"), [word, n])[0]) == a >> shift
    assert int(compute(("shr", "s32"), [word.view("i4"), n])[0]) == signed >> shift
    assert int(compute(("popc", "b32"), [word])[0]) == bin(a).count("1")
    assert int(compute(("clz", "b32"), [word])[0]) == 32 - a.bit_length()
    first, many = (np.array([v], np.uint32) for v in (start, length))
    mask = ((1 << length) - 1 << start) % 2**32
    inserted = compute(("bfi", "b32"), [word, ~word, first, many])
    assert int(inserted[0]) == ((a << start) & mask | ~a & ~mask) % 2**32


def test_comparisons_beside_a_nan_and_conversions_beyond_the_ends() -> None:
    a, b = np.array([1.0, math.nan], np.float32), np.array([2.0, 2.0], np.float32)
    for word, said in {
        "lt": [1, 0],
        "ltu": [1, 1],
        "neu": [1, 1],
        "ne": [1, 0],
        "num": [1, 0],
    }.items():
        assert compare(("setp", word, "f32"))(a, b).tolist() == said
    far = np.array([1e20, -1e20, math.nan, -1.7, 2.5])
    with np.errstate(all="ignore"):
        cut = convert(("cvt", "rzi", "s32", "f64"))(far).tolist()
        even = convert(("cvt", "rni", "s32", "f64"))(far).tolist()
        narrow = convert(("cvt", "rzi", "u32", "f32"))(far.astype(np.float32)).tolist()
    assert cut == [2**31 - 1, -(2**31), -(2**31), -1, 2]
    assert even[-1] == 2
    assert narrow == [2**32 - 1, 0, 0, 0, 2]


def test_a_float64_multiply_add_rounds_once() -> None:
    a, b = np.array([1 + 2.0**-40, np.inf, 1e200]), np.array([1 - 2.0**-40, 1.0, 1e200])
    c = np.array([-1.0, 1.0, 0.0])
    assert fused(a, b, c, "rn").tolist() == [-(2.0**-80), np.inf, np.inf]

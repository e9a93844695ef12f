"""The arithmetic of the executor against exact numbers and plain Python."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.ptx.arithmetic import compare, convert, fused, fused_one, operation


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
    zeros = np.array([0.0, -0.0, 0.0, math.nan]), np.array([-0.0, 0.0, math.nan, -0.0])
    for name, signs in {"min": [1, 1, 0, 1], "max": [0, 0, 0, 1]}.items():
        assert np.signbit(compute((name, "f64"), [*zeros])).tolist() == signs
    far = np.array([1e20, -1e20, math.nan, -1.7, 2.5])
    with np.errstate(all="ignore"):
        cut = convert(("cvt", "rzi", "s32", "f64"))(far).tolist()
        even = convert(("cvt", "rni", "s32", "f64"))(far).tolist()
        narrow = convert(("cvt", "rzi", "u32", "f32"))(far.astype(np.float32)).tolist()
    assert cut == [2**31 - 1, -(2**31), -(2**31), -1, 2]
    assert even[-1] == 2
    assert narrow == [2**32 - 1, 0, 0, 0, 2]


def test_a_float64_multiply_add_rounds_once() -> None:
    rng = np.random.default_rng(1)
    for reach in (2, 60, 500, 1000):  # beyond that, products over- and underflow
        heads = rng.choice([-1, 1, 1.5, 0], (3, 3000)) + rng.random((3, 3000)) / 8
        heads[:, ::9] = np.round(heads[:, ::9])
        a, b, c = np.ldexp(heads, rng.integers(-reach, reach, (3, 3000)))
        with np.errstate(all="ignore"):
            near = -a * b * (1 + rng.integers(-2, 3, 3000) * 2.0**-52)
            c = np.where(rng.random(3000) < 0.4, near, c)
            c[:3], a[3:6] = (np.inf, -np.inf, np.nan), (np.inf, -np.inf, np.nan)
            wanted = [fused_one(*row) for row in zip(*map(list, (a, b, c)), strict=True)]
            assert fused(a, b, c).tolist() == pytest.approx(wanted, rel=0, abs=0, nan_ok=True)


wide_floats = st.floats(-(2.0**60), 2.0**60)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@given(wide_floats, wide_floats, wide_floats, st.sampled_from(["rm", "rz", "rp"]))
def test_operations_round_to_the_side_that_they_name(
    kind: str, a: float, b: float, c: float, mode: str
) -> None:
    dtype = np.float32 if kind == "f32" else np.float64
    x, y, z = (np.array([[v]], dtype) for v in (a, b, c))
    e, f, g = (Fraction(float(v[0, 0])) for v in (x, y, z))
    exact = {"add": e + f, "sub": e - f, "mul": e * f, "fma": e * f + g}
    if abs(f) > 2**-60 and abs(e) > 2**-60:
        exact |= {"div": e / f, "rcp": 1 / e}
    operands = {"fma": [x, y, z], "rcp": [x]}
    for name, value in exact.items():
        if value and abs(value) < Fraction(2) ** -100:
            continue
        result = compute((name, mode, kind), operands.get(name, [x, y]))[0, 0]
        got = Fraction(float(result))
        next_above = Fraction(float(np.nextafter(result, dtype(np.inf))))
        next_below = Fraction(float(np.nextafter(result, dtype(-np.inf))))
        down = mode == "rm" or (mode == "rz" and value > 0)
        assert got <= value < next_above if down else next_below < value <= got, name
    root = Fraction(float(compute(("sqrt", mode, kind), [np.abs(x)])[0, 0]))
    assert root**2 >= abs(e) if mode == "rp" else root**2 <= abs(e)
    with np.errstate(over="ignore"):
        product = compute(("mul", mode, kind), [np.array([[np.finfo(dtype).max]], dtype)] * 2)
    assert np.isinf(product) == (mode == "rp")


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_products_of_24_bits_and_limits(a: int, b: int) -> None:
    x, y = (np.array([v], np.int32) for v in (a, b))
    low = [(v + 2**23) % 2**24 - 2**23 for v in (a, b)]
    for half, shift in (("lo", 0), ("hi", 16)):
        product = int(compute(("mul24", half, "s32"), [x, y])[0])
        assert (product - (low[0] * low[1] >> shift)) % 2**32 == 0
        product = int(compute(("mul24", half, "u32"), [x.view("u4"), y.view("u4")])[0])
        assert product == ((a % 2**24) * (b % 2**24) >> shift) % 2**32
    limited = compute(("add", "sat", "s32"), [x, y])[0], compute(("sub", "sat", "s32"), [x, y])[0]
    assert limited == (min(max(a + b, -(2**31)), 2**31 - 1), min(max(a - b, -(2**31)), 2**31 - 1))
    packed = convert(("cvt", "pack", "sat", "s8", "s32", "b32"))(x, y, x)
    halves = np.clip([b, a], -128, 127).astype(np.int8)
    assert packed.view("i1")[:2].tolist() == halves.tolist()
    assert packed.view("u2")[1] == a % 2**16


def float8(kind: str, code: int) -> float:
    """A number of 8 bits as the OCP standard defines it."""
    bits, bias, top = (3, 7, 0x7F) if kind == "e4m3" else (2, 15, 0x7C)
    exponent, fraction = (code & 0x7F) >> bits, code & ((1 << bits) - 1)
    size = fraction if exponent == 0 else (1 << bits) + fraction
    size *= 2.0 ** (max(exponent, 1) - bias - bits)
    if code & 0x7F >= top:
        size = math.inf if kind == "e5m2" and code & 0x7F == top else math.nan
    return math.copysign(size, 64 - (code & 0x80))


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_floats_of_8_bits(kind: str) -> None:
    codes = np.arange(256, dtype=np.uint16)
    halves = convert(("cvt", "rn", "f16x2", kind + "x2"))(codes | codes[::-1] << np.uint16(8))
    low, high = (halves.view(np.float16).reshape(-1, 2)[:, k].astype(float) for k in (0, 1))
    expected = np.array([float8(kind, code) for code in range(256)])
    assert np.array_equal(low, expected, equal_nan=True)
    assert np.array_equal(high, expected[::-1], equal_nan=True)
    finite = np.sort(expected[np.isfinite(expected)])
    middle = (finite[1:] + finite[:-1]) / 2
    values = np.concatenate([finite, middle, middle * 1.01, [1e9, -1e9]]).astype(np.float32)
    op = ("cvt", "rn", "satfinite", kind + "x2", "f32")
    back = (convert(op)(values, -values) >> np.uint16(8)).astype(int)
    for value, code in zip(values.tolist(), back.tolist(), strict=True):
        distance = abs(value - float8(kind, code))
        others = np.abs(value - finite)
        assert distance == others.min()
        if np.count_nonzero(others == distance) > 1 and value:
            assert code % 2 == 0  # a tie goes to the even one
    assert convert(op)(np.array([np.nan], "f4"), np.array([np.nan], "f4"))[0] == 0x7F7F


def test_small_numbers_are_zeros_where_the_instruction_says_so() -> None:
    tiny = np.array([1e-40, -1e-40, 2.0], np.float32)
    assert compute(("sqrt", "rn", "ftz", "f32"), [np.abs(tiny)])[:2].tolist() == [0, 0]
    assert compute(("mul", "ftz", "f32"), [tiny, np.full(3, 2.0**30, "f4")])[0] == 0
    assert compare(("setp", "eq", "ftz", "f32"))(tiny, 0 * tiny).tolist() == [True, True, False]
    positive = compute(("fma", "rn", "relu", "f16"), [np.array([v], "f2") for v in (2, -3, 1)])
    assert positive.tolist() == [0]
    rounded = convert(("cvt", "rna", "tf32", "f32"))(np.array([1 + 2.0**-11, -1 - 2.0**-11], "f4"))
    assert rounded.view("f4").tolist() == [1 + 2.0**-10, -1 - 2.0**-10]

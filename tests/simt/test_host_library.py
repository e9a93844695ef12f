"""What stands on the host API: vectorize, guvectorize, reduce, random numbers, atomics."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numba import float32, int32

from simt import cuda


def quiet(call: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def test_vectorize() -> None:
    @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((1, 4), np.float32)
    got = quiet(lambda: hypotenuse(a, b))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, np.hypot(a, b), rtol=1e-6)
    device = quiet(lambda: hypotenuse(cuda.to_device(a), cuda.to_device(a)))
    np.testing.assert_allclose(device.copy_to_host(), a * np.sqrt(np.float32(2)), rtol=1e-6)


def test_guvectorize() -> None:
    @cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def running_sum(a, out):
        total = float32(0)
        for k in range(a.shape[0]):
            total += a[k]
            out[k] = total

    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(quiet(lambda: running_sum(a)), np.cumsum(a, axis=1))


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1000, 5000])
def test_reduce(size: int) -> None:
    total = cuda.reduce(lambda a, b: a + b)
    a = np.random.default_rng(size).integers(-99, 99, size)
    assert quiet(lambda: total(a)) == a.sum()
    assert quiet(lambda: total(a, init=5)) == a.sum() + 5


def test_reduce_with_a_function_of_its_own() -> None:
    @cuda.reduce
    def largest(a, b):
        return a if a > b else b

    a = np.random.default_rng(0).standard_normal(777)
    assert quiet(lambda: largest(a)) == a.max()


def test_random_numbers() -> None:
    from numba.cuda.random import (
        create_xoroshiro128p_states,
        xoroshiro128p_normal_float32,
        xoroshiro128p_uniform_float32,
    )

    random = getattr(cuda, "random", None)
    create = getattr(random, "create_xoroshiro128p_states", create_xoroshiro128p_states)

    @cuda.jit
    def draw(states, uniform, normal):
        i = cuda.grid(1)
        for k in range(uniform.shape[1]):
            uniform[i, k] = xoroshiro128p_uniform_float32(states, i)
            normal[i, k] = xoroshiro128p_normal_float32(states, i)

    def once(seed: int) -> tuple[np.ndarray, np.ndarray]:
        states = create(64, seed=seed)
        uniform = cuda.device_array((64, 100), np.float32)
        normal = cuda.device_array((64, 100), np.float32)
        draw[2, 32](states, uniform, normal)
        return uniform.copy_to_host(), normal.copy_to_host()

    uniform, normal = once(7)
    assert ((uniform >= 0) & (uniform < 1)).all()
    assert abs(uniform.mean() - 0.5) < 0.02  # 6400 draws: standard error 0.0036
    assert abs(normal.mean()) < 0.07  # standard error 0.0125
    assert abs(normal.std() - 1) < 0.05
    assert len(np.unique(uniform[:, 0])) == 64  # each thread its own stream
    again, _ = once(7)
    np.testing.assert_array_equal(again, uniform)
    other, _ = once(8)
    assert (other != uniform).any()


def test_random_numbers_by_their_full_name() -> None:

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = cuda.random.xoroshiro128p_uniform_float32(states, i)

    states = cuda.random.create_xoroshiro128p_states(32, seed=7)
    out = cuda.device_array(32, np.float32)
    draw[1, 32](states, out)
    drawn = out.copy_to_host()
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(np.unique(drawn)) == 32


@pytest.mark.parametrize(
    ("call", "start", "want"),
    [
        ("add(out, 0, 3)", 1, 1 + 3 * 64),
        ("sub(out, 0, 3)", 1, 1 - 3 * 64),
        ("max(out, 0, i)", 1, 63),
        ("min(out, 0, i)", 7, 0),
        ("and_(out, 0, 6)", 15, 6),
        ("or_(out, 0, 1 << (i % 5))", 0, 31),
        ("xor(out, 0, i)", 0, 0),
        ("exch(out, 0, 9)", 0, 9),
        ("inc(out, 0, 9)", 0, 4),  # 64 steps round 0 … 9
        ("dec(out, 0, 9)", 0, 6),
        ("cas(out, 0, 0, 5)", 0, 5),
        ("compare_and_swap(out, 0, 5)", 0, 5),
    ],
)
def test_every_atomic(call: str, start: int, want: int) -> None:
    from . import sources

    kinds = np.uint32 if call.startswith(("inc", "dec")) else np.int32
    source = f"def kernel(out):\n    i = cuda.grid(1)\n    cuda.atomic.{call}\n"
    kernel = cuda.jit(sources.module(source, cuda).kernel)
    out = cuda.to_device(np.array([start], kinds))
    kernel[2, 32](out)
    assert out.copy_to_host()[0] == want


@pytest.mark.parametrize("name", ["max", "nanmax", "min", "nanmin"])
def test_atomic_extremes_and_nan(name: str) -> None:
    from . import sources

    source = f"def kernel(a, out):\n    cuda.atomic.{name}(out, 0, a[cuda.grid(1)])\n"
    kernel = cuda.jit(sources.module(source, cuda).kernel)
    a = np.random.default_rng(0).standard_normal(64)
    if name.startswith("nan"):
        a[5] = np.nan
    out = cuda.to_device(np.zeros(1))
    kernel[2, 32](cuda.to_device(a), out)
    assert out.copy_to_host()[0] == getattr(np, name)(a)


def test_atomics_return_the_old_value() -> None:
    @cuda.jit
    def ticket(counter, out):
        out[cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)

    counter, out = cuda.to_device(np.zeros(1, np.int32)), cuda.to_device(np.zeros(96, np.int32))
    ticket[3, 32](counter, out)
    assert sorted(out.copy_to_host()) == list(range(96))  # each ticket once


def test_atomic_on_a_tuple_index_and_on_float() -> None:
    @cuda.jit
    def count(out):
        i = cuda.grid(1)
        cuda.atomic.add(out, (i % 2, i % 3), float32(0.5))

    out = cuda.to_device(np.zeros((2, 3), np.float32))
    count[1, 60](out)
    np.testing.assert_array_equal(out.copy_to_host(), np.full((2, 3), 5, np.float32))


def test_shuffles_of_every_type_and_width() -> None:
    @cuda.jit
    def shuffle(a, out):
        t = cuda.threadIdx.x
        out[0, t] = cuda.shfl_sync(0xFFFFFFFF, a[t], 3)
        out[1, t] = cuda.shfl_up_sync(0xFFFFFFFF, a[t], 2)
        out[2, t] = cuda.shfl_down_sync(0xFFFFFFFF, a[t], 2)
        out[3, t] = cuda.shfl_xor_sync(0xFFFFFFFF, a[t], 1)

    for kind in (np.int32, np.int64, np.float32, np.float64):
        a, out = np.arange(32).astype(kind), cuda.to_device(np.zeros((4, 32), kind))
        shuffle[1, 32](cuda.to_device(a), out)
        lanes = np.arange(32)
        want = [
            np.full(32, 3),
            np.where(lanes >= 2, lanes - 2, lanes),  # the first two keep their own
            np.where(lanes < 30, lanes + 2, lanes),
            lanes ^ 1,
        ]
        np.testing.assert_array_equal(out.copy_to_host(), np.array(want).astype(kind))


@pytest.mark.parametrize("operand", [-1, 33, 64, -32, 31])
def test_of_the_operand_of_a_shuffle_the_lower_five_bits_count(operand: int) -> None:
    """As PTX's `shfl.sync` reads its operand b."""

    @cuda.jit
    def shuffle(out, k):
        t = cuda.threadIdx.x
        out[0, t] = cuda.shfl_sync(0xFFFFFFFF, t, k)
        out[1, t] = cuda.shfl_up_sync(0xFFFFFFFF, t, k)
        out[2, t] = cuda.shfl_down_sync(0xFFFFFFFF, t, k)
        out[3, t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, k)

    out = cuda.to_device(np.zeros((4, 32), np.int64))
    shuffle[1, 32](out, operand)
    lanes, k = np.arange(32), operand & 31
    want = [
        np.full(32, k),
        np.where(lanes >= k, lanes - k, lanes),
        np.where(lanes + k < 32, lanes + k, lanes),
        lanes ^ k,
    ]
    np.testing.assert_array_equal(out.copy_to_host(), want)


def test_votes_of_part_of_a_warp() -> None:
    @cuda.jit
    def vote(out):
        t = cuda.threadIdx.x
        if t < 16:
            out[t] = cuda.ballot_sync(0xFFFF, t % 2)
        else:
            out[t] = cuda.popc(cuda.match_any_sync(0xFFFF0000, t // 8))

    out = cuda.to_device(np.zeros(32, np.int64))
    vote[1, 32](out)
    np.testing.assert_array_equal(out.copy_to_host(), [0xAAAA] * 16 + [8] * 16)


def test_dynamic_shared_memory_as_two_arrays() -> None:
    @cuda.jit
    def split(out):
        whole = cuda.shared.array(0, float32)
        counts = cuda.shared.array(0, int32)[32:]
        t = cuda.threadIdx.x
        whole[t] = t
        counts[t] = 2 * t
        cuda.syncthreads()
        out[t] = whole[31 - t] + counts[t]

    out = cuda.to_device(np.zeros(32))
    split[1, 32, 0, 256](out)
    np.testing.assert_array_equal(out.copy_to_host(), 31 + np.arange(32))

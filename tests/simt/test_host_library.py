"""What stands on the host API: vectorize, guvectorize, reduce, random numbers, atomics."""

import numpy as np
import pytest

from simt import cuda


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

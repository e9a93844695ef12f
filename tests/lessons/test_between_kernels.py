"""The exercises of notebook 08, with answers written by other hands than the catalogue's."""

import itertools
import math

import numpy as np
import pytest
from numba import float32

import gpulearn as gl
from gpulearn import cuda
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.kernels.vectors import vector_add
from gpulearn_lessons.between_kernels import trial
from gpulearn_lessons.between_kernels.overlap import after_seasons
from simt.device import numba_cuda

FULL = 0xFFFFFFFF


# --- wait_for_event


def no_events_at_all(a, b, out):
    s, t, u = cuda.stream(), cuda.stream(), cuda.stream()
    x, y = cuda.to_device(a, stream=s), cuda.to_device(b, stream=t)
    z = cuda.device_array_like(out)
    vector_add[-(-len(out) // 32), 32, u](x, y, z)
    z.copy_to_host(out, stream=u)
    cuda.synchronize()


def events_and_a_host_that_waits_for_each(a, b, out):
    s, t = cuda.stream(), cuda.stream()
    x, y = cuda.to_device(a, stream=s), cuda.to_device(b, stream=t)
    s.synchronize()
    t.synchronize()
    z = cuda.device_array_like(out)
    vector_add[-(-len(out) // 32), 32, s](x, y, z)
    z.copy_to_host(out, stream=s)
    s.synchronize()


def sum_by_the_host(a, b, out):
    out[:] = a + b


# --- pipeline_copies


def with_a_stream_and_an_array_for_each_chunk(values, out, chunks):
    at = [len(values) * k // chunks for k in range(chunks + 1)]
    kept = []
    for lo, hi in itertools.pairwise(at):
        s = cuda.stream()
        d = cuda.to_device(values[lo:hi], stream=s)
        after_seasons[-(-(hi - lo) // 64), 64, s](d)
        d.copy_to_host(out[lo:hi], stream=s)
        kept.append((s, d))
    for s, _ in kept:
        s.synchronize()


def one_launch_for_all(values, out, chunks):
    d = cuda.to_device(values)
    after_seasons[-(-len(values) // 128), 128](d)
    d.copy_to_host(out)


def chunks_on_two_streams_that_meet_in_one_array(values, out, chunks):
    s, t = cuda.stream(), cuda.stream()
    d = cuda.to_device(values, stream=s)
    after_seasons[-(-len(values) // 128), 128, t](d)
    d.copy_to_host(out, stream=t)
    cuda.synchronize()


def seasons_by_the_host(values, out, chunks):
    x = values
    for _ in range(40):
        x = 3.7 * x * (1 - x)
    out[:] = x


def a_part_more_for_the_rest(values, out, chunks):
    step = len(values) // chunks
    with_a_stream_and_an_array_for_each_chunk(values, out, -(-len(values) // step))


# --- the kernels


def normalize_that_parks_the_differences_in_out(x, out):
    r, lane = cuda.grid(1) // 32, cuda.grid(1) % 32
    if r < x.shape[0]:
        n = float32(x.shape[1])
        s = float32(0)
        for c in range(lane, x.shape[1], 32):
            s += x[r, c]
        for d in range(5):
            s += cuda.shfl_xor_sync(FULL, s, 1 << d)
        q = float32(0)
        for c in range(lane, x.shape[1], 32):
            out[r, c] = x[r, c] - s / n
            q += out[r, c] * out[r, c]
        for d in range(5):
            q += cuda.shfl_xor_sync(FULL, q, 1 << d)
        for c in range(lane, x.shape[1], 32):
            out[r, c] /= math.sqrt(q / n + float32(1e-5))


def softmax_that_parks_the_powers_in_out(s, o):
    r, lane = cuda.grid(1) // 32, cuda.laneid
    if r >= len(s):
        return
    m = s[r, 0]
    for c in range(lane, s.shape[1], 32):
        m = max(m, s[r, c])
    for d in range(5):
        m = max(m, cuda.shfl_xor_sync(FULL, m, 1 << d))
    t = float32(0)
    for c in range(lane, s.shape[1], 32):
        o[r, c] = math.exp(s[r, c] - m)
        t += o[r, c]
    for d in range(5):
        t += cuda.shfl_xor_sync(FULL, t, 1 << d)
    for c in range(lane, s.shape[1], 32):
        o[r, c] /= t


def softmax_that_replaces_the_maximum_first(s, o):
    r = cuda.grid(1) // 32
    if r >= len(s):
        return
    m, t = float32(-3e38), float32(0)
    for c in range(cuda.laneid, s.shape[1], 32):
        m = max(m, s[r, c])  # so the factor below is always 1
        t = t * math.exp(m - max(m, s[r, c])) + math.exp(s[r, c] - m)
    for d in range(5):
        n = cuda.shfl_xor_sync(FULL, m, 1 << d)
        u = cuda.shfl_xor_sync(FULL, t, 1 << d)
        t = t * math.exp(m - max(m, n)) + u * math.exp(n - max(m, n))
        m = max(m, n)
    for c in range(cuda.laneid, s.shape[1], 32):
        o[r, c] = math.exp(s[r, c] - m) / t


# --- launch_bound


def launches_of_the_mean(kernels, launch, gap):
    each = max(launch, sum(kernels) / len(kernels))
    return each * len(kernels), launch + sum(kernels) + gap * (len(kernels) - 1)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("wait_for_event", no_events_at_all, "let u wait for it"),
        ("wait_for_event", events_and_a_host_that_waits_for_each, "let the stream wait"),
        ("wait_for_event", sum_by_the_host, "launch a kernel"),
        ("pipeline_copies", seasons_by_the_host, "launch a kernel"),
        ("pipeline_copies", a_part_more_for_the_rest, "the number of launches is 4"),
        ("pipeline_copies", one_launch_for_all, "the budget is"),
        ("pipeline_copies", chunks_on_two_streams_that_meet_in_one_array, "let t wait for it"),
        ("fused_normalize", normalize_that_parks_the_differences_in_out, "keep it in shared"),
        ("online_softmax", softmax_that_parks_the_powers_in_out, "a variable"),
        ("online_softmax", softmax_that_replaces_the_maximum_first, "it is as if the sum"),
        ("launch_bound", launches_of_the_mean, "is too little"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)


def test_a_program_of_numbas_own_is_tried_on_the_machine():
    real = numba_cuda.load()
    names = {"cuda": real, "vector_add": real.jit(vector_add.py_func)}
    written = {}
    source = gl.solution("wait_for_event").source
    exec(source, {**names, "blocks_for": gl.blocks_for, "BLOCK": 32}, written)
    answer = written["wait_for_event"]
    assert answer.__globals__["cuda"] is real
    assert trial.machines(answer).__globals__["cuda"] is not real
    assert diagnose(find("wait_for_event"), answer) is None


def test_what_has_not_arrived_when_the_function_returns_is_counted():
    exercise = find("wait_for_event")
    case = exercise.cases()[0]

    def returns_at_once(a, b, out):
        stream = cuda.stream()
        there = cuda.to_device(a + b)
        there.copy_to_host(out, stream=stream)

    got = exercise.run(returns_at_once, case)
    said = exercise.difference(got, np.add(*case.args[:2]))
    assert "1,000 of 1,000 values have not arrived" in said

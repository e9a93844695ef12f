"""The exercises of notebook 01, with answers written by other hands than the catalogue's."""

import functools
import statistics
import time

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.virtual_gpu import VirtualGpu, faster_and_faster, slower_and_slower, zigzag


def test_virtual_gpu_keeps_the_rules_of_a_launch():
    gpu = VirtualGpu(work=1.0, factor=lambda call: 1.0, pending=2.0)
    start = gpu.clock()
    gpu.run()
    assert gpu.clock() - start < 1e-5  # a launch returns at once
    gpu.synchronize()
    assert gpu.clock() - start == pytest.approx(2.0 + 40.0, rel=1e-3)  # slow first call
    gpu.synchronize()
    assert gpu.clock() - start == pytest.approx(42.0, rel=1e-3)  # nothing left to wait for
    gpu.run()
    gpu.synchronize()
    assert gpu.clock() - start == pytest.approx(43.0, rel=1e-3)


@pytest.mark.parametrize("factor", [slower_and_slower, faster_and_faster, zigzag])
def test_no_two_calls_of_a_virtual_gpu_take_equally_long(factor):
    calls = [factor(call) for call in range(1, 20)]
    assert len({round(c, 6) for c in calls}) == len(calls)


# --- answers that slipped through an earlier version of the checks ---------------------


def crossover_destroys_its_input(sizes, cpu_seconds, gpu_seconds):
    found = None
    for n, c, g in zip(sizes, cpu_seconds, gpu_seconds, strict=True):
        found = None if g >= c else found or n
    sizes.append(1)
    return found


def loops_by_broadcasting(a, b):
    return (a[:, :, None] * b[None]).sum(axis=1)


def loops_of_whole_rows(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i] += a[i, k] * b[k]
    return c


def loops_on_flat_zeros(a, b):
    (m, n), p = a.shape, b.shape[1]
    c = np.zeros_like(a, np.result_type(a, b), shape=(m, p))
    for i, j, k in np.ndindex(m, p, n):
        c.reshape(-1)[i * p + j] += a[i, k] * b[k, j]
    return c


def loops_as_masked(a, b):
    return np.ma.array(a @ b)


def time_without_warm_up(run, synchronize, clock, repeats):
    times = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return np.median(times)


def time_one_repeat_short(run, synchronize, clock, repeats):
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return np.median(times[1:])


def time_off_the_middle(run, synchronize, clock, repeats):
    run()
    synchronize()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return sorted(times)[max(0, repeats // 2 - 1)]


def time_on_the_wall(run, synchronize, clock, repeats):
    run()
    synchronize()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - start)
    return np.median(times)


# --- right answers that an earlier version refused, or crashed on ----------------------


def loops_like_the_input(a, b):
    c = np.zeros_like(a, shape=(a.shape[0], b.shape[1]), dtype=float)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def loops_in_place(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            v = a[i].astype(float)
            v *= b[:, j]
            for one in v:
                c[i, j] += one
    return c


def loops_that_ask_for_the_type(a, b):
    assert type(a) is np.ndarray
    return loops_in_place(a, b) if a.shape else loops_that_ask_for_the_type(a, b)


def time_warming_up_each_time(run, synchronize, clock, repeats):
    times = []
    for _ in range(repeats):
        run()
        synchronize()
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return statistics.median(times)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("matmul_loops", lambda a, b: (a @ b).tolist(), "returns a list; wrap it in np.array"),
        ("matmul_loops", lambda a, b: np.matmul(a, b), "NumPy's matmul (@) did the work"),
        ("matmul_loops", lambda a, b: np.einsum("ik,kj->ij", a, b), "NumPy's einsum did the work"),
        ("matmul_loops", lambda a, b: a.dot(b), "NumPy's dot did the work"),
        ("matmul_flops", lambda m, n, p: lambda: 2 * m * n * p, "the function <lambda> itself"),
        ("crossover", lambda s, c, g: s[-1] if g[-1] < 1 else None, "it returns None, expected"),
        ("matmul_flops", lambda m, n, p: str(2 * m * n * p), "returns '2' (str), expected 2"),
        ("matmul_flops", lambda m, n, p: True, "returns True (bool), expected 2"),
        ("time_correctly", lambda run: 1.0, "it takes (run), and is called with (run, synchronize"),
        ("matmul_loops", lambda a, b: a @ b / 0, "elements differ"),
        ("crossover", crossover_destroys_its_input, "it changes its input; work on a copy"),
        ("matmul_loops", lambda a, b: np.asarray(a) @ np.asarray(b), "do not take n³ steps"),
        ("matmul_loops", loops_by_broadcasting, "do not take n³ steps"),
        ("matmul_loops", loops_of_whole_rows, "do not take n³ steps"),
        ("matmul_loops", loops_as_masked, "(MaskedArray), expected a plain NumPy array"),
        ("matmul_flops", lambda m, n, p: m * n**p, "expected"),
        ("matmul_flops", lambda m, n, p: 2 * m * (n if m != p else m) * p, "7, 4, 7, it returns"),
        ("matmul_loops", loops_on_flat_zeros, "for float32 A (3, 7) and B (7, 2) in Fortran order"),
        ("matmul_flops", lambda m, n, p: 10**400, "expected 2"),
        ("time_correctly", time_without_warm_up, "it calls run() 1 time, and repeats is 1: one"),
        ("time_correctly", time_one_repeat_short, "one call that does not count must come before"),
        ("time_correctly", time_off_the_middle, "expected"),
        ("time_correctly", time_on_the_wall, "it never reads the clock that it is given"),
        ("matmul_loops", loops_like_the_input, None),
        ("matmul_loops", loops_in_place, None),
        ("matmul_loops", loops_that_ask_for_the_type, None),
        ("matmul_flops", functools.partial(lambda c, m, n, p: c * m * n * p, 2), None),
        ("time_correctly", time_warming_up_each_time, None),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis

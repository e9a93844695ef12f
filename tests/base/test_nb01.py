"""The exercises of notebook 01, with answers written by other hands than the catalogue's."""

import numpy as np
import pytest

from gpulearn.lessons.exercise import find
from gpulearn.lessons.judge import diagnose
from gpulearn.lessons.virtual_gpu import VirtualGpu


def loops_result_as_list(a, b):
    return (a @ b).tolist()


def loops_by_matmul(a, b):
    return np.matmul(a, b)


def loops_by_einsum(a, b):
    return np.einsum("ik,kj->ij", a, b)


def loops_by_method(a, b):
    return a.dot(b)


def loops_reset_in_the_wrong_place(x, y):
    rows, inner, cols = x.shape[0], x.shape[1], y.shape[1]
    out = np.zeros((rows, cols))
    s = 0
    for r in range(rows):
        for q in range(cols):
            for t in range(inner):
                s = s + x[r, t] * y[t, q]
            out[r, q] = s
    return out


def loops_stop_early(x, y):
    out = np.zeros((x.shape[0], y.shape[1]))
    for r in range(x.shape[0]):
        for q in range(y.shape[1]):
            for t in range(x.shape[1] - 1):
                out[r, q] += x[r, t] * y[t, q]
    return out


def loops_write_into_a(a, b):
    c = a @ b
    a[:] = 0
    return c


def loops_print(a, b):
    (a @ b).sum()


def loops_divide(a, b):
    return a @ b / 0


def flops_without_factor(rows, inner, cols):
    return rows * cols * inner


def flops_text(m, n, p):
    return str(2 * m * n * p)


def flops_true(m, n, p):
    return True


def crossover_any(sizes, cpu_seconds, gpu_seconds):
    i = np.argmax(np.array(cpu_seconds) > np.array(gpu_seconds))
    return sizes[i] if cpu_seconds[i] > gpu_seconds[i] else None


def time_without_wait(launch, wait, now, count):
    launch()
    samples = sorted(_stamp(launch, now) for _ in range(count))
    return samples[count // 2]


def _stamp(launch, now):
    begin = now()
    launch()
    return now() - begin


def time_wait_after_clock(launch, wait, now, count):
    launch()
    samples = []
    for _ in range(count):
        wait()
        begin = now()
        launch()
        samples.append(now() - begin)
        wait()
    return sorted(samples)[count // 2]


def time_fewest_calls(launch, wait, now, count):
    launch()
    wait()
    begin = now()
    launch()
    wait()
    return now() - begin


def time_constant(launch, wait, now, count):
    return 0.01


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("matmul_loops", loops_result_as_list, "returns a list, expected a NumPy array"),
        ("matmul_loops", loops_by_matmul, "NumPy's matmul (@) did the work"),
        ("matmul_loops", loops_by_einsum, "NumPy's einsum did the work"),
        ("matmul_loops", loops_by_method, "NumPy's dot did the work"),
        ("matmul_loops", loops_reset_in_the_wrong_place, "the sum is never set back"),
        ("matmul_loops", loops_stop_early, "the sum stops one early"),
        ("matmul_loops", loops_write_into_a, "it changes its input; work on a copy"),
        ("matmul_loops", loops_print, "returns nothing (None)"),
        ("matmul_flops", flops_without_factor, "each also takes an addition"),
        ("matmul_flops", flops_text, "returns '2', a str"),
        ("matmul_flops", flops_true, "returns True, a bool"),
        ("crossover", crossover_any, "further on it falls behind again"),
        ("time_correctly", time_without_wait, "only the launch is timed"),
        ("time_correctly", time_wait_after_clock, "only the launch is timed"),
        ("time_correctly", time_fewest_calls, "it times a single call"),
        ("time_correctly", time_constant, "it calls run() 0 times, and repeats is 5"),
        ("time_correctly", lambda run: 1.0, "it takes (run), and must take (run, synchronize"),
    ],
)
def test_other_hands_make_the_same_mistakes(name, answer, said):
    assert said in diagnose(find(name), answer)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_infinities_are_not_right():
    assert "elements differ" in diagnose(find("matmul_loops"), loops_divide)


def test_virtual_gpu_keeps_the_rules_of_a_launch():
    gpu = VirtualGpu(work=1.0, pending=2.0)
    start = gpu.clock()
    gpu.run()
    assert gpu.clock() - start < 1e-5  # a launch returns at once
    gpu.synchronize()
    assert gpu.clock() - start == pytest.approx(2.0 + 40.0, rel=1e-3)  # slow first call
    gpu.synchronize()
    assert gpu.clock() - start == pytest.approx(42.0, rel=1e-3)  # nothing left to wait for

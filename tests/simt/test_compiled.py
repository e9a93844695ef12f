"""Launches that compiled code carries out: results, and what is told, are the machine's."""

import copy
import random
import threading
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import simt
from simt import cuda
from simt.compiled import launch as compiled
from simt.core import limits
from simt.core.findings import SimtWarning

from . import fuzz, grammar, sources
from .cases import Case, assert_same
from .harness import launch
from .right import CASES

# of the right kernels, those that are left to the machine, with the reason's first words
LEFT = {
    "shapes_and_types_that_a_device_function_is_given": "a shape that depends on",
    "each_call_of_itself_has_its_own_array": "a declared signature",
    "constant_records": "",
    "an_array_for_each_type_that_a_function_is_called_with": "syncthreads in a device function",
    "recursion": "fibonacci calls itself",
    "bit_tricks": "cuda.brev",
    "nested_functions": "FunctionDef",
    "active_lanes_of_a_branch": "cuda.activemask",
    "whole_grid_sync": "cuda.cg.this_grid",
    "relaxation_over_the_grid": "cuda.cg.this_grid",
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No kernel is too small to be compiled."""
    monkeypatch.setattr(compiled, "BUDGET", 0.0)


@contextmanager
def unchecked():
    """Unchecked launches, without the sentence that nothing has been checked."""
    with simt.unchecked(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ran as compiled code")
        yield


def state(kernel):
    (overload,) = kernel.overloads.values()
    return overload.unchecked


def is_compiled(kernel):
    return state(kernel).code is not None and not state(kernel).refused


# --- the same results


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_is_right(case: Case) -> None:
    args = copy.deepcopy(case.make(seed=3))
    kernel = case.kernel if hasattr(case.kernel, "py_func") else cuda.jit(case.kernel)
    with unchecked():
        launch(kernel, case.grid, case.block, *args, shared=case.shared)
    assert_same(args, case.expected(seed=3), case.rtol)
    for overload in kernel.overloads.values():
        refused = overload.unchecked.refused
        assert (case.name in LEFT) == bool(refused), refused
        assert LEFT.get(case.name, "") in refused


@pytest.mark.parametrize("number", range(2000, 2006))
def test_a_random_kernel_gives_what_the_reference_gives(number: int) -> None:
    program = grammar.program(random.Random(number).randrange)
    wrong = fuzz.difference(program, [(number, fuzz.compiled)])
    assert wrong is None, f"{wrong}\n{program.source}"


def matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = numba.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def test_many_blocks_are_shared_among_cores_and_small_launches_are_not() -> None:
    kernel = cuda.jit(matmul)
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((96, 96)).astype(np.float32) for _ in "ab")
    want = np.zeros_like(a)
    for k in range(96):
        want += a[:, k : k + 1] * b[k]
    for _ in range(3):
        c = np.zeros_like(a)
        with unchecked():
            launch(kernel, (13, 13), (8, 8), a, b, c)
        np.testing.assert_array_equal(c, want)
    assert is_compiled(kernel)


def counted_round(a):
    i = cuda.grid(1)
    cuda.atomic.inc(a, 2 * i, 2**64 - 2)
    cuda.atomic.dec(a, 2 * i + 1, 2**64 - 2)


def test_counters_above_the_integers_of_float64() -> None:
    kernel = cuda.jit(counted_round)
    a = np.repeat(np.array([5, 2**53 + 1, 2**64 - 3, 2**64 - 2, 0], np.uint64), 2)
    with unchecked():
        launch(kernel, 1, 5, a)
    assert is_compiled(kernel)
    top = 2**64 - 2
    counts = [6, 4, 2**53 + 2, 2**53, 2**64 - 2, 2**64 - 4, 0, 2**64 - 3, 1, top]
    assert a.tolist() == counts


def sometimes_set(a, out):
    i = cuda.grid(1)
    s = cuda.shared.array(32, numba.int64)
    s[cuda.threadIdx.x] = a[i]
    cuda.syncthreads()
    if s[31 - cuda.threadIdx.x] > 20:
        k = ~1
    out[i] = k ^ 1


def test_a_variable_that_nothing_was_assigned_to_is_zero() -> None:
    kernel = cuda.jit(sometimes_set)
    a, out = np.arange(32), np.zeros(32, np.int64)
    with unchecked():
        launch(kernel, 1, 32, a, out)
    np.testing.assert_array_equal(out, np.where(31 - a > 20, -2 ^ 1, 1))
    assert is_compiled(kernel)


OPERATIONS = {
    "int64": "x // y; x % y; x << y; x >> y; -x; ~x; abs(x); x and y; min(x, y); np.uint8(x)",
    "uint64": "x << y; x >> y; (x << y) | (x >> y); x // y; x % y; x ^ y; x + y; x * y; "
    "x << 65; x >> 64; x // 3; x - y",
    "int32": "x << 64; x >> 70; x >> y; x << y; 1 << x; -1 >> x",
    "uint32": "x // y; x % y; x - y; -x; x << y; max(x, y); x / y; cuda.clz(x); cuda.ffs(x)",
    "bool": "cuda.clz(x); cuda.popc(y); -cuda.clz(x)",
    "float32": "x / y; x // y; x % y; min(x, y); max(x, y); round(x); math.ceil(y); x ** 2; int(x)",
}
NUMBERS = {
    "int64": [0, 1, -1, 2, -3, 7, 63, 64, 65, -64, 1 << 40, 1 - (1 << 63), (1 << 63) - 1],
    "uint64": [0, 1, 2, 7, 63, 64, 65, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
    "int32": [0, 1, -1, 31, 63, 64, 65, -(1 << 31), (1 << 31) - 1],
    "uint32": [0, 1, 2, 7, 31, 32, 255, 256, (1 << 31), (1 << 32) - 1],
    "bool": [False, True],
    "float32": [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -3.7, 1e10, np.inf, -np.inf, np.nan],
}


@pytest.mark.parametrize("kind", OPERATIONS)
def test_numbers_on_the_edge(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Division by zero, shifts too far, negative remainders, NaN: as the machine has them."""
    operations = OPERATIONS[kind].split("; ")
    lines = [f"    out[{k}, i] = {operation}" for k, operation in enumerate(operations)]
    head = "def kernel(a, b, out):\n    i = cuda.grid(1)\n    x = a[i]\n    y = b[i]\n"
    text = "@cuda.jit\n" + head + "\n".join(lines) + "\n"
    every = np.array(NUMBERS[kind], kind)
    a, b = np.repeat(every, len(every)), np.tile(every, len(every))
    got, want = (np.zeros((len(operations), a.size)) for _ in "mc")
    fast = sources.module(text, cuda).kernel
    with unchecked():
        launch(fast, a.size, 1, a, b, got)
        monkeypatch.setattr(compiled, "BUDGET", np.inf)
        launch(sources.module(text, cuda).kernel, a.size, 1, a, b, want)
    assert is_compiled(fast), state(fast).refused
    for operation, g, w in zip(operations, got, want, strict=True):
        np.testing.assert_array_equal(g, w, err_msg=operation)


# --- the same sentences


def shifted(a, out, by):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i + by]


@pytest.mark.parametrize("by", [1, -40])
def test_an_index_out_of_bounds_is_told_as_the_machine_tells_it(by: int) -> None:
    a, out = np.arange(32.0), np.zeros(32)
    said = []
    for manager in (simt.unchecked, simt.unchecked, lambda: simt.block_order(0)):
        with manager(), pytest.raises(simt.errors.KernelError, match="out of bounds") as stopped:
            launch(cuda.jit(shifted), 2, 16, a, out, by)
        said.append(str(stopped.value))
    assert len(set(said)) == 1


def test_a_negative_index_is_told_and_counts_from_the_end() -> None:
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    with unchecked(), pytest.warns(SimtWarning, match="negative index counts from the end"):
        launch(kernel, 2, 16, a, out, -3)
    np.testing.assert_array_equal(out, np.roll(a, 3))
    assert state(kernel).refused


def half_way(out):
    if cuda.threadIdx.x < 16:
        cuda.syncthreads()
    out[cuda.grid(1)] = 1


def in_turn(out):
    t = cuda.threadIdx.x
    for k in range(2):
        if k == t % 2:
            cuda.syncthreads()
    out[t] = 1


def vote_in_turn(out):
    t = cuda.threadIdx.x
    for k in range(2):
        if k == t % 2:
            out[t] = cuda.shfl_sync(0xFFFFFFFF, k, 5)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (half_way, "only 16 of 32 threads"),
        (in_turn, "only 16 of 32 threads"),
        (vote_in_turn, "names lane 1"),
    ],
)
def test_a_barrier_in_divergent_code_is_told_as_the_machine_tells_it(kernel, words) -> None:
    with simt.unchecked(), pytest.raises(simt.errors.KernelError, match=words):
        launch(cuda.jit(kernel), 1, 32, np.zeros(32))


def from_beyond(a):
    t = cuda.threadIdx.x
    a[t] = cuda.shfl_down_sync(0xFFFFFFFF, a[t], 8)
    a[t] = cuda.shfl_up_sync(0xFFFFFFFF, a[t], -30)
    a[t] = cuda.shfl_xor_sync(0xFFFFFFFF, a[t], 33)


def several_loops(a):
    s = cuda.shared.array(64, numba.int64)
    t = cuda.threadIdx.x
    for j in range(3):
        s[t] = a[t]
        for k in range(4):
            cuda.syncthreads()
            if j == 2 and k == 1:
                break
            if k == j:
                cuda.syncthreads()
                continue
            x = s[(t + k) % 64]
            cuda.syncthreads()
            s[t] += x * j
            a[t] += cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)
        cuda.syncthreads()


@pytest.mark.parametrize(
    ("function", "threads"),
    [(from_beyond, 8), (from_beyond, 16), (from_beyond, 40), (several_loops, 64)],
)
def test_threads_that_meet_get_what_they_get_on_the_machine(function, threads, monkeypatch) -> None:
    kernel = cuda.jit(function)
    got, want = (np.arange(threads) + 1 for _ in "cm")
    with unchecked():
        launch(kernel, 1, threads, got)
        monkeypatch.setattr(compiled, "BUDGET", np.inf)
        launch(cuda.jit(function), 1, threads, want)
    np.testing.assert_array_equal(got, want)
    assert is_compiled(kernel), state(kernel).refused


def reverse(a, n):
    s = cuda.shared.array(32, numba.float64)
    i = cuda.grid(1)
    if i >= n:
        return
    t = cuda.threadIdx.x
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[min(32, n - cuda.blockIdx.x * 32) - 1 - t]


def test_threads_that_have_left_before_a_barrier_are_told_of() -> None:
    kernel = cuda.jit(reverse)
    a = np.arange(40.0)
    words = "24 of 32 threads of the block returned before this barrier: .*block 1"
    for _ in range(2):
        before = a.copy()
        with unchecked(), pytest.warns(SimtWarning, match=words):
            launch(kernel, 2, 32, a, 40)
        np.testing.assert_array_equal(a[:32], before[31::-1])
        np.testing.assert_array_equal(a[32:], before[:31:-1])
    assert is_compiled(kernel)


def endless(a):
    while a[0] >= 0:
        a[0] += 1
        if a[0] > 5:
            a[0] = 1


def test_an_endless_loop_ends_in_the_machines_sentence(monkeypatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.3)
    with simt.unchecked(), pytest.raises(simt.errors.KernelError, match="still running"):
        launch(cuda.jit(endless), 1, 1, np.zeros(1, np.int64))


def test_launches_from_several_threads_do_not_meet() -> None:
    kernel = cuda.jit(reverse)
    arrays = [np.arange(64.0) + n for n in range(8)]

    def work(a):
        with unchecked():
            launch(kernel, 2, 32, a, 64)

    workers = [threading.Thread(target=work, args=(a,)) for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # filters are of the process, not of a thread
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    for n, a in enumerate(arrays):
        np.testing.assert_array_equal(a, np.r_[31:-1:-1, 63:31:-1] + n)


# --- what is said of the checks that are left out


def test_that_nothing_has_been_checked_is_said_once() -> None:
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    with simt.unchecked():
        with pytest.warns(SimtWarning, match="shifted ran as compiled code"):
            launch(kernel, 1, 16, a, out, 0)
        launch(kernel, 1, 16, a, out, 0)  # a warning would be an error


def test_nothing_is_said_after_a_checked_launch_of_the_same_shapes() -> None:
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    launch(kernel, 1, 16, a, out, 0)
    with simt.unchecked():
        launch(kernel, 1, 16, a, out, 0)
        with pytest.warns(SimtWarning, match="shifted ran as compiled code"):
            launch(kernel, 2, 16, a, out, 0)
    assert is_compiled(kernel)


def tight(out):
    s = cuda.shared.array(8192, numba.float32)
    d = cuda.shared.array(0, numba.float32)
    s[cuda.threadIdx.x] = 1
    d[cuda.threadIdx.x] = 2
    cuda.syncthreads()
    out[cuda.threadIdx.x] = s[cuda.threadIdx.x] + d[cuda.threadIdx.x]


def test_too_much_shared_memory_is_told_as_the_machine_tells_it() -> None:
    kernel = cuda.jit(tight)
    out = np.zeros(32)
    with unchecked():
        launch(kernel, 1, 32, out, shared=128)
        assert is_compiled(kernel)
        np.testing.assert_array_equal(out, 3)
        with pytest.raises(simt.errors.KernelError, match="a block wants 49,168 bytes of shared"):
            launch(kernel, 1, 32, out, shared=16_400)


# --- when


def test_the_machine_goes_on_until_it_has_cost_a_second(monkeypatch) -> None:
    monkeypatch.setattr(compiled, "BUDGET", 1.0)
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    with simt.unchecked():
        launch(kernel, 1, 16, a, out, 0)
        assert state(kernel).code is None
        state(kernel).spent = 2.0
        with unchecked():
            launch(kernel, 1, 16, a, out, 0)
    assert is_compiled(kernel)


def test_too_much_to_copy_stays_with_the_machine(monkeypatch) -> None:
    monkeypatch.setattr(compiled, "SNAPSHOT_LIMIT", (16, 1))
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    with simt.unchecked():
        launch(kernel, 1, 16, a, out, 0)
    assert state(kernel).code is None
    np.testing.assert_array_equal(out[:16], a[:16])


@pytest.mark.parametrize("other", [np.int64, np.float32])
def test_a_type_that_is_another_on_the_cpu_is_noticed(other, monkeypatch):
    key, wide = ("x", 3), np.dtype(np.float64)  # which NumPy calls equal to None
    monkeypatch.setattr(compiled, "variable_types", lambda annotation: {key: wide})
    made = SimpleNamespace(overloads={(): SimpleNamespace(type_annotation=None)})
    compiled._compare(made, {key: wide})
    compiled._compare(made, {key: None})
    with pytest.raises(TypeError, match="x is float64 here, "):
        compiled._compare(made, {key: np.dtype(other)})

"""Unchecked launches by machine code: results, and what is told, are the machine's."""

import copy
import threading
import warnings
from contextlib import contextmanager, nullcontext

import numba
import numpy as np
import pytest

import simt
from simt import cuda
from simt.core import limits
from simt.core.findings import SimtWarning
from simt.numba_ptx import codegen
from simt.ptx.native.launch import left_to_executor

from . import sources
from .cases import Case, assert_same
from .harness import launch
from .right import CASES

pytestmark = pytest.mark.usefixtures("_compiler")

# of the right kernels, those that trap or call themselves are left to the machine
LEFT = {"each_call_of_itself_has_its_own_array", "constants_by_columns", "recursion"}


@contextmanager
def unchecked():
    """Unchecked launches, without the sentence that nothing has been checked."""
    with simt.unchecked(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ran as machine code")
        yield


def state(kernel):
    (overload,) = kernel.overloads.values()
    return overload.unchecked


def is_native(kernel):
    return state(kernel).ptx is not None and not state(kernel).left


# --- the same results


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_right_kernel_is_right(case: Case) -> None:
    args = copy.deepcopy(case.make(seed=3))
    kernel = case.kernel if hasattr(case.kernel, "py_func") else cuda.jit(case.kernel)
    with unchecked():
        launch(kernel, case.grid, case.block, *args, shared=case.shared)
    assert_same(args, case.expected(seed=3), case.rtol)
    for overload in kernel.overloads.values():
        left = overload.unchecked.left
        assert (case.name in LEFT) == bool(left), left
        assert not left or "recurse" in left


def counted_round(a):
    i = cuda.grid(1)
    cuda.atomic.inc(a, 2 * i, 2**64 - 2)
    cuda.atomic.dec(a, 2 * i + 1, 2**64 - 2)


def test_counters_above_the_integers_of_float64() -> None:
    kernel = cuda.jit(counted_round)
    a = np.repeat(np.array([5, 2**53 + 1, 2**64 - 3, 2**64 - 2, 0], np.uint64), 2)
    with unchecked():
        launch(kernel, 1, 5, a)
    assert is_native(kernel)
    top = 2**64 - 2
    counts = [6, 4, 2**53 + 2, 2**53, 2**64 - 2, 2**64 - 4, 0, 2**64 - 3, 1, top]
    assert a.tolist() == counts


OPERATIONS = {
    "int64": "x // y; x % y; x << y; x >> y; -x; ~x; abs(x); x and y; min(x, y); np.uint8(x)",
    "uint64": "x << y; x >> y; (x << y) | (x >> y); x // y; x % y; x ^ y; x + y; x * y; "
    "x << 65; x >> 64; x // 3; x - y",
    "int32": "x << 64; x >> y; x << y; 1 << x; -1 >> x",
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
def test_numbers_on_the_edge(kind: str) -> None:
    """Division by zero, shifts too far, negative remainders, NaN: as the machine has them.

    Only where a shift is by 2**32 or more, a divisor infinite or a quotient large may a GPU's code
    give something else.
    """
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of float64
        launch(sources.module(text, cuda).kernel, a.size, 1, a, b, want)
    assert is_native(fast), state(fast).left
    for operation, g, w in zip(operations, got, want, strict=True):
        certain = np.ones(b.size, bool)
        if kind == "float32" and operation in ("x // y", "x % y"):
            certain = ~np.isinf(b) & (np.abs(a) < 1e9)
        elif ">> y" in operation or "<< y" in operation:
            certain = (b >= 0) & (b.astype(np.float64) < 2**32)
        np.testing.assert_array_equal(g[certain], w[certain], err_msg=operation)


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


def test_a_negative_index_counts_from_the_end() -> None:
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    with unchecked():
        launch(kernel, 2, 16, a, out, -3)
    np.testing.assert_array_equal(out, np.roll(a, 3))
    assert is_native(kernel)


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


@pytest.mark.filterwarnings("ignore:.*ran as machine code")
@pytest.mark.parametrize(
    ("kernel", "words"),
    [(in_turn, "only 16 of 32 threads"), (vote_in_turn, "names lane 1")],
)
def test_a_barrier_in_divergent_code_is_told_as_the_machine_tells_it(kernel, words) -> None:
    out = np.zeros(32)
    with simt.unchecked(), pytest.raises(simt.errors.KernelError, match=words):
        launch(cuda.jit(kernel), 1, 32, out)
    with simt.unchecked(), pytest.warns(simt.SimtWarning, match="only 16 of 32 threads"):
        launch(cuda.jit(half_way), 1, 32, out)
    assert out.all()  # the others have ended, and GPUs since Volta wait for them no more


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
def test_threads_that_meet_get_what_they_get_on_the_machine(function, threads) -> None:
    kernel = cuda.jit(function)
    got, want = (np.arange(threads) + 1 for _ in "cm")
    with unchecked():
        launch(kernel, 1, threads, got)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lanes that are not there
        launch(cuda.jit(function), 1, threads, want)
    np.testing.assert_array_equal(got, want)
    assert is_native(kernel), state(kernel).left


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
    for said in (pytest.warns(SimtWarning, match=words), nullcontext()):  # once
        before = a.copy()
        with unchecked(), said:
            launch(kernel, 2, 32, a, 40)
        np.testing.assert_array_equal(a[:32], before[31::-1])
        np.testing.assert_array_equal(a[32:], before[:31:-1])
    assert is_native(kernel)


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


def test_that_nothing_has_been_checked_is_said_once_and_not_after_a_checked_launch() -> None:
    kernel = cuda.jit(shifted)
    a, out = np.arange(32.0), np.zeros(32)
    launch(kernel, 1, 16, a, out, 0)
    with simt.unchecked():
        launch(kernel, 1, 16, a, out, 0)
        with pytest.warns(SimtWarning, match="shifted ran as machine code"):
            launch(kernel, 2, 16, a, out, 0)
        launch(kernel, 2, 16, a, out, 0)  # a warning would be an error
    assert is_native(kernel)


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
        assert is_native(kernel)
        np.testing.assert_array_equal(out, 3)
        with pytest.raises(simt.errors.KernelError, match="a block wants 49,168 bytes of shared"):
            launch(kernel, 1, 32, out, shared=16_400)


# --- what is the machine's


NUMBERS_BY_NAME = np.arange(32.0)
FACTOR = 2


def scaled(out):
    i = cuda.grid(1)
    out[i] = FACTOR * NUMBERS_BY_NAME[i]


@pytest.mark.parametrize(
    ("name", "new"), [("FACTOR", 3), ("FACTOR", 2.0), ("NUMBERS_BY_NAME", np.ones(32))]
)
def test_names_stand_for_what_they_stood_for_at_the_first_launch(name, new, monkeypatch) -> None:
    kernel, out = cuda.jit(scaled), np.zeros(32)
    launch(kernel, 1, 32, out)
    monkeypatch.setitem(globals(), name, new)
    with unchecked():
        launch(kernel, 1, 32, out)
    np.testing.assert_array_equal(out, 2 * np.arange(32))
    assert state(kernel).left == "a name in it no longer stands for what it did"


def inverted(out):
    i = cuda.grid(1)
    if out[i] == 0:
        raise ZeroDivisionError("nothing to divide by")
    out[i] = 1 / out[i]


def test_what_a_kernel_raises_for_debugging_is_raised() -> None:
    kernel = cuda.jit(debug=True, opt=False)(inverted)
    with unchecked(), pytest.raises(ZeroDivisionError, match="nothing to divide by"):
        launch(kernel, 1, 4, np.array([1.0, 2, 0, 4]))
    assert "debug=True" in state(kernel).left


def test_without_a_compiler_the_machine_says_why_at_the_end(monkeypatch) -> None:
    monkeypatch.setattr(codegen, "compiler_fault", lambda: "no CUDA compiler here")
    kernel, out = cuda.jit(scaled), np.zeros(32)
    with unchecked():
        launch(kernel, 1, 32, out)
    np.testing.assert_array_equal(out, 2 * np.arange(32))
    assert left_to_executor["scaled"] == state(kernel).left == "no CUDA compiler here"


def test_a_device_array_is_reached_by_a_global_name() -> None:
    table = cuda.to_device(np.arange(64.0)[::2].copy())

    @cuda.jit
    def doubled(out):
        i = cuda.grid(1)
        out[i] = table[i + 1]
        table[i] = -1.0

    out = np.zeros(8)
    with unchecked():
        launch(doubled, 1, 8, out)
    assert is_native(doubled), state(doubled).left
    np.testing.assert_array_equal(out, 2 * np.arange(8) + 2)
    np.testing.assert_array_equal(table.copy_to_host()[7:9], [-1, 16])
    with unchecked(), pytest.raises(simt.errors.KernelError, match="out of bounds"):
        launch(doubled, 1, 33, np.zeros(33))
    assert table.copy_to_host()[31] == 62

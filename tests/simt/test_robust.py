"""No kernel, whatever it does, kills or hangs the process, or writes where it must not."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import float32

import simt
from simt import cuda
from simt.core import limits
from simt.machine import lockstep, machine

from . import sources
from .harness import launch, to_device

ROOT = Path(__file__).parents[2]


def test_a_loop_of_more_than_a_million_iterations_ends_as_it_should() -> None:
    out = np.zeros(1, np.int64)
    launch(long_loop, 1, 1, out, 1_200_000)
    assert out[0] == 1_200_000


def counts_for_ever(out):
    k = 0
    while k >= 0:
        k += 1
    out[0] = k


def test_a_loop_that_changes_something_has_time_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    with pytest.raises(
        simt.errors.KernelError, match="still running.*if it is only slow, use more threads"
    ):
        launch(counts_for_ever, 1, 1, np.zeros(1, np.int64))


def many_steps(out, n):
    for _ in range(n):
        for _ in range(1000):
            pass
    out[0] = 1


def test_for_loops_of_many_steps_end_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lockstep, "STEP_LIMIT", 100_000)
    out = np.zeros(1, np.int64)
    launch(many_steps, 1, 1, out, 300)
    assert out[0] == 1
    monkeypatch.setattr(limits, "SECONDS", 0.0)
    with pytest.raises(simt.errors.KernelError, match="use more threads"):
        launch(many_steps, 1, 1, out, 300)


def search_that_stands_still(a, out):
    lo, hi = 0, a.size
    while lo < hi:
        middle = (lo + hi) // 2
        if a[middle] < 3:
            lo = middle
        else:
            hi = middle
        out[cuda.grid(1)] = middle


@pytest.mark.parametrize("grid", [1, 2])
def test_a_loop_that_stands_still_is_found_at_once(grid: int) -> None:
    with pytest.raises(simt.errors.KernelError, match="an iteration of it changes nothing"):
        launch(search_that_stands_still, grid, 32, np.arange(16), np.zeros(64))


def long_loop(out, n):
    k = 0
    while k < n:
        k += 1
    out[0] = k


@cuda.jit(device=True)
def deeper(n):
    if n < 0:
        return n
    return deeper(n + 1)


def endless_recursion(out):
    out[cuda.grid(1)] = deeper(cuda.grid(1))


def test_recursion_without_end_is_an_error() -> None:
    with pytest.raises(simt.errors.KernelError):
        launch(endless_recursion, 1, 32, np.zeros(32, np.float32))


def nan_index(x, out):
    i = cuda.grid(1)
    out[int(x[i])] = 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_a_nan_index_is_an_error(value: float) -> None:
    x, out = np.full(32, value, np.float32), np.zeros(32, np.float32)
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(nan_index, 1, 32, x, out)
    assert caught.value.report.findings[0].kind == "out-of-bounds"
    assert (out == 0).all()


def write_at(out, index):
    i = cuda.grid(1)
    out[index[i]] = 7


def write_at_two(out, index):
    i = cuda.grid(1)
    out[index[i], index[i]] = 7


def add_at(out, index):
    i = cuda.grid(1)
    cuda.atomic.add(out, index[i], 7)


@pytest.mark.parametrize("kernel", [write_at, add_at])
@pytest.mark.parametrize("bad", [10, 11, 40, -11, -40, 2**31, 2**62, 2**63 - 1, -(2**63)])
def test_canaries_round_an_array_survive(kernel: Any, bad: int) -> None:
    whole = cuda.to_device(np.full(30, 5, np.int64))
    index = np.array([0, 1, bad, 3])
    with pytest.raises(simt.errors.KernelError) as caught:
        cuda.jit(kernel)[1, 4](whole[10:20], *to_device((index,)))
    assert caught.value.report.findings[0].kind == "out-of-bounds"
    after = whole.copy_to_host()
    assert (after[:10] == 5).all()
    assert (after[20:] == 5).all()


@pytest.mark.parametrize("bad", [4, 5, 8, -5, 2**40, -(2**62)])
def test_canaries_round_a_window_of_a_matrix_survive(bad: int) -> None:
    whole = cuda.to_device(np.full((8, 8), 5, np.int64))
    index = np.array([0, 1, bad, 3])
    with pytest.raises(simt.errors.KernelError):
        cuda.jit(write_at_two)[1, 4](whole[2:6, 2:6], *to_device((index,)))
    after = whole.copy_to_host()
    after[2:6, 2:6] = 5
    assert (after == 5).all()


def huge_local(out):
    box = cuda.local.array(10**9, float32)
    box[0] = 1
    out[cuda.grid(1)] = box[0]


def dynamic(out):
    s = cuda.shared.array(0, float32)
    s[cuda.threadIdx.x] = 1
    out[cuda.threadIdx.x] = s[cuda.threadIdx.x]


def test_memory_beyond_hardware_is_refused_and_forgotten_memory_told_of() -> None:
    out = np.zeros(32, np.float32)
    with pytest.raises(simt.errors.KernelError):
        launch(huge_local, 1, 32, out)
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(dynamic, 1, 32, out, shared=10**9)
    assert caught.value.report.findings[0].kind == "launch-limit"
    with pytest.raises(simt.errors.KernelError, match=r"kernel\[grid, block, stream, bytes\]"):
        launch(dynamic, 1, 32, out)


BODIES = [
    "out[i] = lo // z", "out[i] = lo // (z - 1)",
    "out[i] = lo % z", "out[i] = lo % (z - 1)",
    "out[i] = 1 << (lo & 127)", "out[i] = lo >> 200", "out[i] = abs(lo)",
    "out[i] = int(f[i] / 0.0)", "out[i] = int(math.sqrt(f[i] - 100))",
    "out[i] = math.log(0.0)", "out[i] = math.exp(1e9)", "out[i] = f[i] // 0.0",
    "out[i] = f[i] % 0.0", "out[i] = 2 ** (z + 2000)", "out[i] = 7 ** (z - 1)",
    "out[i] = 1 / z", "out[i] = math.fmod(f[i], 0.0)", "out[i] = math.factorial(5)",
    "out[i] = e.shape[0]", "out[i] = e[i]", "out[i] = e[-1]",
    "for k in range(0, 5, z): out[i] = k", "x = (1, 2, 3)[i]", "out[i] = round(f[i], 400)",
    "raise ValueError('no')", "assert z == 1", "out[i] = len(e)", "del out",
    "out[i] = cuda.shfl_sync(0, i, 99)", "out[i] = cuda.ballot_sync(1, 1)",
    "cuda.syncwarp(0)", "out[i] = math.pow(-8.0, 1.0 / 3.0)", "out[i] = chr(i)",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_nasty_arithmetic_gives_a_result_or_a_kernel_error(body: str) -> None:
    source = f"def kernel(out, f, e, lo, z):\n    i = cuda.grid(1)\n    {body}\n"
    kernel = sources.module(source, cuda).kernel
    args = np.zeros(32), np.zeros(32), np.zeros(0), np.int64(-(2**63)), 0
    with contextlib.suppress(simt.errors.KernelError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        launch(kernel, 1, 32, *args)


def program(text: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", text]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


INTERRUPTED = textwrap.dedent(
    """
    import time
    import numpy as np
    import simt
    from simt import cuda
    from tests.simt import sources

    module = sources.module('''
    @cuda.jit
    def slow(out):
        i = cuda.grid(1)
        for k in range(100_000_000):
            out[i] = out[i] * 0.5 + k

    @cuda.jit
    def quick(out):
        out[cuda.grid(1)] = 3
    ''', cuda)
    out = cuda.to_device(np.zeros({threads}))
    module.quick[1, 32](cuda.to_device(np.zeros(32)))
    print("started", flush=True)
    try:
        module.slow[{threads} // 32, 32](out)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    fresh = cuda.to_device(np.zeros(64))
    module.quick[2, 32](fresh)
    print(int(fresh.copy_to_host().sum()), flush=True)
    """
)


@pytest.mark.parametrize("threads", [32, 1 << 20])
def test_an_interrupt_ends_a_launch_and_the_next_one_works(threads: int) -> None:
    child = program(INTERRUPTED.replace("{threads}", str(threads)))
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "started"
        time.sleep(0.7)
        assert child.poll() is None, "the launch was over before the interrupt"
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline().strip() == "interrupted"
        assert time.monotonic() - sent < 15  # not a measurement: the launch would go on for minutes
        assert child.stdout.readline().strip() == "192"  # 64 · 3
        assert child.wait(20) == 0
    finally:
        child.kill()
        child.communicate()


def test_a_launch_leaves_its_chunks_to_nobody() -> None:
    """Memory is used again at once: in a circle it would wait for the garbage collector."""
    args = np.zeros(40), np.zeros(40)
    launch(roll, 4, 10, *args)
    gc.collect()
    before = machines()
    gc.disable()
    try:
        launch(roll, 4, 10, *args)
        assert machines() == before
    finally:
        gc.enable()


def machines() -> int:
    """How many there are; a test that failed before keeps its own."""
    return sum(type(one) is machine.Machine for one in gc.get_objects())


def roll(a: Any, out: Any) -> None:
    s = cuda.shared.array(10, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[(t + 1) % 10]


def lock_of_a_warp(lock):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)


def lock_of_warps(lock):
    if cuda.threadIdx.x % 32 == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.atomic.exch(lock, 0, 0)


def lock_of_those_who_stay(lock):
    if cuda.threadIdx.x % 2:
        return
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass


VOLTA = "Others of its warp go on only after it, as on GPUs before Volta; newer ones let them"
WARPS = "Other warps go on only after it here; on a GPU they go on meanwhile, since Volta other"


@pytest.mark.parametrize(
    ("kernel", "blocks", "threads", "taken", "said"),
    [
        (lock_of_a_warp, 1, 32, 0, VOLTA),
        (lock_of_warps, 1, 64, 0, WARPS),
        (lock_of_warps, 1, 32, 1, VOLTA),
        (lock_of_a_warp, 1, 32, 1, ""),
        (lock_of_a_warp, 2, 32, 1, WARPS),
        (lock_of_those_who_stay, 1, 32, 1, ""),
        (lock_of_those_who_stay, 1, 32, 0, VOLTA),
    ],
)
def test_a_loop_that_waits_says_which_threads_might_end_it_on_a_gpu(
    kernel: Any, blocks: int, threads: int, taken: int, said: str
) -> None:
    with pytest.raises(simt.errors.KernelError) as caught:
        launch(kernel, blocks, threads, np.full(1, taken, np.int32))
    _, begun, rest = str(caught.value).partition("no thread changes what it waits for")
    assert begun
    certain = "this loop waits forever" in str(caught.value)
    assert certain == (not said)
    assert rest[2 : 2 + len(said)] == said
    assert bool(rest) == bool(said)


@pytest.mark.parametrize("way", [contextlib.nullcontext, simt.unchecked])
def test_one_thread_of_each_block_takes_a_lock(way: Any) -> None:
    lock = np.zeros(1, np.int32)
    with way(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*ran as machine code")
        launch(lock_of_a_warp, 3, 1, lock)
    assert lock[0] == 0

"""How an exercise is judged whose answer is a kernel."""

import dataclasses
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda as numba_cuda
from numba import njit

from gpulearn import cuda
from gpulearn.errors import MachineFault
from gpulearn.judge import budgets, launches, stubs
from gpulearn.judge.answers import Answers, Wrong
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.kernel_exercise import (
    Launch,
    difference,
    kernel_exercise,
    over_budget,
    simulate,
)
from gpulearn.kernels.specification import Specification, blocks_along
from simt.host import api
from tests.support.edits import edited

NEIGHBORS = "Let neighboring threads read neighboring elements."
WRONGS = []


def wrong(hint):
    """Mark a wrong answer with the hint that it must get."""

    def mark(answer):
        WRONGS.append(Wrong(lambda: answer, hint))
        return answer

    return mark


@cuda.jit
def scale(a, factor, out):
    i, j = cuda.grid(2)
    if j < a.shape[0] and i < a.shape[1]:
        out[j, i] = factor * a[j, i]


@wrong("the block index is never used: every block does the work of block 0.")
def block_ignored(a, factor, out):
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    if j < a.shape[0] and i < a.shape[1]:
        out[j, i] = factor * a[j, i]


@wrong("a column too many: the columns are 0 to shape[1] - 1.")
def guard_off_by_one(a, factor, out):
    i, j = cuda.grid(2)
    if j < a.shape[0] and i <= a.shape[1]:
        out[j, i] = factor * a[j, i]


@wrong("nothing is computed: the kernel is empty.")
def nothing(a, factor, out):
    pass


@wrong(NEIGHBORS)
def down_the_columns(a, factor, out):
    i, j = cuda.grid(2)
    while i < a.shape[0]:
        k = j
        while k < a.shape[1]:
            out[i, k] = factor * a[i, k]
            k += cuda.gridsize(2)[1]
        i += cuda.gridsize(2)[0]


SCALED = Specification(
    scale,
    lambda a, factor, out: (factor * a,),
    lambda a, factor, out, block: blocks_along(a.shape[::-1], block),
    (32, 8),
    outputs=(2,),
)


def cases():
    rng = np.random.default_rng(0)
    made = []
    for m, n, grid in ((33, 40, (2, 5)), (64, 32, (1, 8)), (5, 70, (3, 1))):
        a = rng.normal(size=(m, n)).astype(np.float32)
        made.append(
            Launch.of(
                SCALED,
                f"a of shape ({m}, {n})",
                *(a, np.float32(3), np.empty_like(a)),
                grid=grid,
                measured=n == 32,
            )
        )
    return made


SCALE = dataclasses.replace(
    kernel_exercise(
        SCALED,
        task="Multiply.",
        cases=cases,
        budgets=(budgets.sectors_per_request(4, advice=NEIGHBORS),),
    ),
    known=lambda: Answers(WRONGS),
)


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda w: w.answer.__name__)
def test_known_mistakes_get_their_hint(wrong):
    assert diagnose(SCALE, wrong.answer).lower().endswith(wrong.hint.lower())


def test_the_solution_passes_as_a_kernel_and_as_a_plain_function():
    assert diagnose(SCALE, scale) is None
    assert diagnose(SCALE, scale.py_func) is None


def test_a_finding_is_told_with_its_line_threads_and_the_known_hint():
    said = diagnose(SCALE, guard_off_by_one)
    line = guard_off_by_one.__code__.co_firstlineno + 4
    assert said == (
        f"for a of shape (33, 40), line {line} (`out[j, i] = factor * a[j, i]`): thread (8, 0) of "
        "block (1, 0) accesses a[0, 40], out of bounds in dimension 1: a has shape (33, 40) (and "
        "32 more threads). A column too many: the columns are 0 to shape[1] - 1."
    )


def test_a_budget_says_what_the_line_moves_and_how_far_lanes_are_apart():
    said = diagnose(SCALE, down_the_columns)
    assert "(`out[i, k] = factor * a[i, k]`) moves 32 sectors per load request, " in said
    assert "the budget is 4: neighboring lanes are 128 bytes apart. " + NEIGHBORS in said


def unknown(kernel):
    return diagnose(SCALE, kernel)


VALUE = "factor * a[j, i]"
GUARD = "i < a.shape[1]"
LINE = f"out[j, i] = {VALUE}"


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ({VALUE: "7.5"}, "every element of out is 7.5"),
        ({VALUE: "a[j, i]"}, "out equals a, unchanged"),
        ({VALUE: "factor * a[j, i] + 1"}, "every element of out is too large by 1"),
        ({VALUE: "5 * a[j, i] * factor"}, "every element of out is 5 times what it should be"),
        ({VALUE: "int(factor * a[j, i])"}, "every element of out is cut off to a whole number"),
        ({VALUE: "factor * a[i % a.shape[0], j % a.shape[1]]"}, "rows and columns of out are swap"),
        ({VALUE: "factor * a[j, i - 1]"}, "accesses a[0, -1]: a negative index counts from the en"),
        ({GUARD: f"{GUARD} and i % 2 == 0"}, "660 of 1,320 elements of out are never written, fi"),
        (  # a NaN that is written is not an element that nobody wrote
            {VALUE: "factor * a[j, i] if i > 0 else np.float32(np.nan)"},
            "(only at the edges), first out[0, 0] is nan",
        ),
        ({GUARD: f"0 < {GUARD}", VALUE: "a[j, i] - i"}, "first out[0, 0] is never written, exp"),
        (
            {VALUE: "factor * a[j, i] if cuda.threadIdx.x < 30 or i == a.shape[1] - 1 else 0"},
            "(only where two blocks meet)",
        ),
        ({LINE: f"a[j, i] *= factor; {LINE}"}, "it writes to a, which is an input"),
        ({LINE: f"a[j, i] = a[j, i]; {LINE}"}, "it writes to a, which is an input"),
        ({" = factor": " += factor"}, "out is read, or added to, before anything is written to it"),
        ({LINE: f"cuda.atomic.add(out, (j, i), {VALUE})"}, "out is read, or added to, before an"),
        ({VALUE: "a.nonsense"}, "(`out[j, i] = a.nonsense`): "),
        ({"    if": "    out[0, 0] = cuda.blockIdx.x\n    if"}, "race"),
    ],
)
def test_unknown_mistakes_are_described(edits, sentence):
    assert sentence in unknown(edited(scale, edits))


def over(budget, kernel):
    """What is told of a kernel that has that budget alone."""
    limits = dataclasses.replace(SCALE, demand=lambda answer, done: over_budget([budget], done))
    return diagnose(limits, kernel)


def test_a_budget_for_one_argument_counts_its_atomic_updates():
    by_atomics = edited(scale, {LINE: f"out[j, i] = 0; cuda.atomic.add(out, (j, i), {VALUE})"})
    once = budgets.bytes_moved(lambda launch: launch.args[2].nbytes, advice="Once.", of=2)
    assert over(once, scale) is None
    assert "it moves 24,576 bytes of out, the budget is 8,192. Once." in over(once, by_atomics)


def test_a_budget_on_requests_sees_elements_that_go_one_by_one():
    def row_by_row(a, factor, out):
        j = cuda.grid(2)[1]
        if j < a.shape[0] and cuda.threadIdx.x == 0 and cuda.blockIdx.x == 0:
            for i in range(a.shape[1]):
                out[j, i] = factor * a[j, i]

    rows = budgets.requests(lambda launch: 2 * launch.args[0].shape[0], advice="32 at once.")
    assert over(rows, scale) is None
    told = over(rows, row_by_row)
    assert "its warps load and store 4,096 times, the budget is 128. 32 at once." in told


def test_a_hint_is_for_the_same_mistake_only():
    outside_of_out = edited(scale, {"i < a": "i <= a", VALUE: "factor"})  # another array
    told = unknown(outside_of_out)
    assert "accesses out[0, 40], out of bounds" in told
    assert "a column too many" not in told.lower()


def test_a_kernel_that_prints_does_not_fill_the_notebook(capsys):
    assert unknown(edited(scale, {LINE: f"print(i, j); {LINE}"})) is None
    assert capsys.readouterr().out == ""


def test_a_stub_is_a_stub_under_its_decorator():
    @cuda.jit
    def stub(a, factor, out):
        out[0, 0] = ...

    assert stubs.is_stub(stub)
    assert not stubs.is_stub(scale)


@pytest.mark.parametrize("answer", [scale, scale.py_func], ids=["kernel", "function"])
def test_on_a_gpu_a_kernel_is_launched_as_it_is(monkeypatch, answer):
    made = []
    jit = api.jit
    monkeypatch.setattr(api, "jit", lambda function: made.append(jit(function)) or made[-1])
    launched = []
    configured = type(scale).__getitem__
    monkeypatch.setattr(
        type(scale), "__getitem__", lambda k, shape: launched.append(k) or configured(k, shape)
    )
    monkeypatch.setattr(launches, "numba_cuda", SimpleNamespace(load=lambda: api))
    launches.on_gpu(answer, cases()[0])
    assert launched == [answer if answer is scale else made[0]]


def counted(kernel, block, *args):
    from gpulearn import xray

    there = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    launch = Launch("", args, grid=1, block=block)
    return xray(kernel)[1, block](*there), launch


def tile(a, out):
    s = cuda.shared.array((32, 32), np.float32)
    i, j = cuda.grid(2)
    s[j, i] = a[j, i]
    cuda.syncthreads()
    if j % 2 == 0:
        out[j, i] = s[i, j] * 2.0
        cuda.atomic.add(out, (0, 0), 1)


def part(a, out):
    i = cuda.threadIdx.x
    if i % 2 == 0:
        out[i] = a[i]


def twice(a, out):
    i = cuda.threadIdx.x
    if a[i] > 0:
        out[i] = a[i]


def scattered(a, out):
    i = cuda.threadIdx.x
    out[i] = a[i * 7 % 64]


def crowd(a, out):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    s[t % 32] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, t % 4, a[t])
    cuda.syncthreads()
    out[t] = s[t % 32]


def unread(a, out):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    out[t] = a[t]


TILE_LINE = "(`out[j, i] = s[i, j] * 2.0`)"


@pytest.mark.parametrize(
    ("kernel", "budget", "within", "sentence"),
    [
        (tile, budgets.bank_conflicts, 31, f"{TILE_LINE} meets 31 bank conflicts per request, "),
        (tile, budgets.barriers, 1, "each warp passes 1 barrier, the budget is 0"),
        (tile, budgets.instructions, 99, "statements, the budget is 1"),
        (tile, partial(budgets.atomics, of=1), 512, "it does 512 atomic operations on out, the "),
        (tile, budgets.bytes_moved, 10_240, "it moves 10,240 bytes of global memory, the budget"),
        (tile, budgets.operations, 512, "it does 512 floating-point operations, the budget is 511"),
        (part, budgets.divergence, 2, "warps part 2 times, most often in line"),
        (twice, partial(budgets.accesses, of=0), 128, "its threads read elements of a 128 times, "),
        (scattered, partial(budgets.accesses, of=0), 64, "its threads read elements of a 64 times"),
        (crowd, budgets.contention, 8, "(`cuda.atomic.add(s, t % 4, a[t])`) sends 8 lanes to one"),
        (crowd, budgets.shared_passes, 2, "each block passes over shared memory 2 times, the budg"),
    ],
)
def test_a_budget_says_what_exceeds_it(kernel, budget, within, sentence):
    shape = (32, 32) if kernel is tile else (64,) if kernel is not crowd else (32,)
    ones = np.ones(shape, np.float32)
    report, launch = counted(kernel, shape, ones, ones)

    def excess(limit):
        return budget(lambda launch: limit, advice="").excess(report, launch)

    assert excess(within) is None
    assert sentence in excess(1 if budget is budgets.instructions else within - 1)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (tile, None),
        (part, "it never writes to shared memory"),
        (unread, "it never reads what it writes to shared memory"),
    ],
)
def test_shared_memory_has_to_be_used(kernel, sentence):
    shape = (32, 32) if kernel is tile else (32,)
    ones = np.ones(shape, np.float32)
    report, launch = counted(kernel, shape, ones, ones)
    assert budgets.shared_memory(advice="").excess(report, launch) == sentence


def begins_with_zero(a, out):
    total, k = 0.0, 0
    while k < a.size:
        total += a[k]
        k += 1
    out[0] = total


def begins_with_zero_somewhere(a, out):
    i = cuda.threadIdx.x
    part = a[i] if i < 40 else -0.0
    out[i] = part + a[i]


def meets_a_float64(a, out):
    total, k = np.float32(0), 0
    while k < a.size:
        total = np.float32(total + a[k] * 1.0)
        k += 1
    out[0] = total


@pytest.mark.parametrize(
    ("kernel", "begun"),
    [(begins_with_zero, True), (begins_with_zero_somewhere, True), (meets_a_float64, False)],
)
def test_what_is_said_of_a_sums_beginning_is_said_where_it_begins_with_a_plain_number(
    kernel, begun
):
    report, launch = counted(kernel, 64, np.ones(64, np.float32), np.ones(64, np.float32))
    of_sums, otherwise = budgets.float64_sums(advice="begin with np.float32(0).")
    assert otherwise.excess(report, launch)
    assert bool(of_sums.excess(report, launch)) == begun


def test_what_is_written_back_as_it_was_is_not_called_unwritten():
    def back_again(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = a[i]

    def untouched(a):
        pass

    negate = Specification(
        back_again, lambda a: (-a,), lambda a, block: blocks_along(a.size, block), 32, updated=(0,)
    )
    for kernel, why in ((back_again, "what is written to it is"), (untouched, "nothing is")):
        launch = Launch.of(negate, "ones", np.ones(40, np.float32))
        said = difference(simulate(kernel, launch), (-np.ones(40, np.float32),))
        assert said.startswith(f"a is left as it was: {why}"), said


def test_single_threads_that_do_everything_are_noticed():
    def alone(a, factor, out):
        if cuda.grid(1) == 0 and cuda.blockIdx.y == 0 and cuda.threadIdx.y == 0:
            for j in range(a.shape[0]):
                for i in range(a.shape[1]):
                    out[j, i] = factor * a[j, i]

    said = unknown(alone)
    assert "are at work, the budget is 2.5 or more. One thread does the work of many" in said


def test_what_cannot_be_launched_is_refused_before_it_is_tried():
    device_function = cuda.jit(device=True)(scale.py_func)
    assert "it is a device function" in unknown(device_function)
    assert "it comes with the shape of a launch" in unknown(scale[1, 32])
    assert "compiled for the CPU: write @cuda.jit over def scale(…)" in unknown(njit(scale.py_func))
    assert "it is <ufunc 'add'>: write @cuda.jit over def add" in unknown(np.add)
    assert unknown(numba_cuda.jit(scale.py_func)) is None
    assert "device function" in unknown(numba_cuda.jit(device=True)(scale.py_func))


def test_an_endless_loop_is_told_with_its_line_and_tried_once():
    def no_step(a, factor, out):
        i, j = cuda.grid(2)
        while j < a.shape[0] and i < a.shape[1]:
            out[j, i] = factor * a[j, i]

    launched = []
    counted = dataclasses.replace(
        SCALE, run=lambda *given: launched.append(given[0].py_func) or SCALE.run(*given)
    )
    line = no_step.__code__.co_firstlineno + 2
    assert f"line {line} (`while j < a.shape[0]" in diagnose(counted, no_step, seconds=60)
    assert launched.count(no_step) == 1


def test_one_block_is_not_called_the_first_of_several():
    def first_only(a, factor, out):
        if cuda.threadIdx.x == 0:
            out[0, 0] = factor * a[0, 0]

    one = Launch(
        "a pair", (np.ones((1, 2), np.float32), np.float32(3), np.empty((1, 2), np.float32)),
        grid=1, block=1, outputs=(2,),
    )  # fmt: skip
    said = diagnose(dataclasses.replace(SCALE, cases=lambda: [one], known=Answers), first_only)
    assert said == "for a pair, out[0, 1] is never written; all others are right."


def test_a_fault_of_the_machine_is_no_wrong_answer(monkeypatch):
    def broken(*args):
        raise KeyError("lost")

    def mine(a, factor, out):
        i, j = cuda.grid(2)
        if i < out.shape[0] and j < out.shape[1]:
            out[i, j] = factor * cuda.cbrt(a[i, j])

    monkeypatch.setattr("simt.intrinsics.math.cast_up", broken)
    with pytest.raises(MachineFault, match="this is not your mistake: KeyError"):
        diagnose(SCALE, mine)

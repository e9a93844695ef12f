"""The exercises of notebook 01: the matrix product, its cost, and how it is timed."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.kernels.matmul import matmul_flops, matmul_loops
from gpulearn.lessons import compare
from gpulearn.lessons.exercise import Case, Exercise, Refused, Wrong
from gpulearn.lessons.virtual_gpu import VirtualGpu
from gpulearn.timing import crossover, time_correctly

__all__ = ["EXERCISES"]

NOTEBOOK = "01_cpu_vs_gpu_matmul"
Matrix = np.ndarray[Any, Any]


# --- matmul_loops ---------------------------------------------------------------------


def matmul_cases() -> list[Case]:
    """Products in which no two sizes, rows or columns can stand in for one another."""
    rng = np.random.default_rng(1)
    cases = []
    for m, n, p in ((2, 3, 4), (4, 4, 4), (5, 2, 3), (1, 6, 1), (3, 1, 5), (1, 1, 1)):
        a, b = rng.normal(size=(m, n)), rng.normal(size=(n, p))
        cases.append(Case(f"A of shape ({m}, {n}) and B of shape ({n}, {p})", (a, b)))
    whole = [rng.integers(-9, 9, size=s) for s in ((3, 4), (4, 2))]
    cases.append(Case("A and B of whole numbers, (3, 4) and (4, 2)", tuple(whole)))
    single = [rng.normal(size=s).astype(np.float32) for s in ((3, 7), (7, 2))]
    cases.append(Case("float32 A (3, 7) and B (7, 2)", tuple(single)))
    return cases


def hidden_loops(answer: Callable[..., Any]) -> str | None:
    """Whether NumPy's matrix product did the work that the loops were to do."""
    products: list[str] = []

    class Spy(np.ndarray[Any, Any]):
        """An array that notes when a whole matrix product is done for it."""

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            if ufunc is np.matmul:
                products.append("matmul (@)")
            plain = [np.asarray(x) if isinstance(x, Spy) else x for x in inputs]
            return getattr(ufunc, method)(*plain, **kwargs)

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            has_matrix = any(isinstance(x, Spy) and x.ndim == 2 for x in args)
            if func in (np.dot, np.einsum, np.tensordot, np.inner) and has_matrix:
                products.append(func.__name__)
            return super().__array_function__(func, types, args, kwargs)

        def dot(self, *args: Any, **kwargs: Any) -> Any:
            if self.ndim == 2:
                products.append("dot")
            return np.asarray(self).dot(*args, **kwargs)

    answer((np.eye(3) + 1.0).view(Spy), np.arange(6.0).reshape(3, 2).view(Spy))
    if products:
        return (
            f"the result is right, but NumPy's {products[0]} did the work. "
            f"Write the loops yourself: they are what everything else is compared with."
        )
    return None


def matmul_elementwise(a: Matrix, b: Matrix) -> Matrix:
    return a * b


def matmul_assigns(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] = a[i, k] * b[k, j]
    return c


def matmul_short_sum(a: Matrix, b: Matrix) -> Matrix:
    return a[:, :-1] @ b[:-1, :]


def matmul_skips_first(a: Matrix, b: Matrix) -> Matrix:
    return a[:, 1:] @ b[1:, :]


def matmul_b_transposed(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]
    return c


def matmul_a_transposed(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[k, i] * b[k, j]
    return c


def matmul_result_transposed(a: Matrix, b: Matrix) -> Matrix:
    return (a @ b).T


def matmul_swapped(a: Matrix, b: Matrix) -> Matrix:
    return b @ a


def matmul_square_only(a: Matrix, b: Matrix) -> Matrix:
    n = a.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matmul_integer_result(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]), dtype=int)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += int(a[i, k] * b[k, j])
    return c


def matmul_running_sum(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]))
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def matmul_other_order(a: Matrix, b: Matrix) -> Matrix:
    c = np.zeros((a.shape[0], b.shape[1]), np.result_type(a, b))
    for k in range(a.shape[1]):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def matmul_with_accumulator(a: Matrix, b: Matrix) -> Matrix:
    rows = []
    for row in a:
        sums = []
        for j in range(len(b[0])):
            total = 0.0
            for k, value in enumerate(row):
                total += value * b[k][j]
            sums.append(total)
        rows.append(sums)
    return np.array(rows)


def matmul_by_dot_products(a: Matrix, b: Matrix) -> Matrix:
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.sum(a[i, :] * b[:, j])
    return c


# --- matmul_flops ---------------------------------------------------------------------


def flops_cases() -> list[Case]:
    """Sizes that tell the three apart, and one whose count overflows 32 and 53 bits."""
    all_sizes = ((1, 1, 1), (2, 3, 5), (7, 4, 2), (64, 64, 64), (300_007, 200_003, 100_003))
    return [Case(f"m, n, p = {m}, {n}, {p}", (m, n, p)) for m, n, p in all_sizes]


def flops_int32(m: int, n: int, p: int) -> int:
    with np.errstate(over="ignore"):
        return int(np.int32(2) * np.int32(m) * np.int32(n) * np.int32(p))


# --- crossover ------------------------------------------------------------------------


def crossover_cases() -> list[Case]:
    """Tables with one crossing, several, none, ties, and sizes that are no powers of two."""
    tables: tuple[tuple[str, list[int], list[float], list[float]], ...] = (
        ("one crossing", [64, 128, 256, 512], [1.0, 2.0, 8.0, 60.0], [5.0, 5.0, 5.0, 6.0]),
        ("a lead lost and won back", [10, 20, 30, 40], [3.0, 4.0, 5.0, 9.0], [4.0, 3.0, 6.0, 8.0]),
        ("a GPU that is never faster", [64, 128, 256], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]),
        ("a GPU that is always faster", [3, 5, 9], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0]),
        ("a tie before the crossing", [100, 200, 300], [1.0, 5.0, 9.0], [5.0, 5.0, 6.0]),
        ("a GPU that leads only in the middle", [1, 2, 3], [1.0, 9.0, 4.0], [2.0, 5.0, 6.0]),
        ("a lead lost at once", [8, 16, 24, 32], [9.0, 1.0, 9.0, 9.0], [5.0, 5.0, 5.0, 5.0]),
        ("a single size", [77], [2.0], [1.0]),
    )
    return [Case(label, (sizes, cpu, gpu)) for label, sizes, cpu, gpu in tables]


def crossover_first_lead(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    for n, c, g in zip(sizes, cpu_seconds, gpu_seconds, strict=True):
        if g < c:
            return n
    return None


def crossover_last_loss(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = None
    for n, c, g in zip(sizes, cpu_seconds, gpu_seconds, strict=True):
        if g >= c:
            found = n
    return found


def crossover_index(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = crossover(sizes, cpu_seconds, gpu_seconds)
    return None if found is None else list(sizes).index(found)


def crossover_cpu_faster(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    return crossover(sizes, gpu_seconds, cpu_seconds)


def crossover_tie_counts(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = None
    for n, c, g in zip(sizes, cpu_seconds, gpu_seconds, strict=True):
        if g > c:
            found = None
        elif found is None:
            found = n
    return found


def crossover_last_win(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    wins = [n for n, c, g in zip(sizes, cpu_seconds, gpu_seconds, strict=True) if g < c]
    return wins[-1] if wins else None


def crossover_never_is_last(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = crossover(sizes, cpu_seconds, gpu_seconds)
    return sizes[-1] if found is None else found


def crossover_never_is_zero(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    return crossover(sizes, cpu_seconds, gpu_seconds) or 0


def crossover_backwards(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    found = None
    for i in reversed(range(len(sizes))):
        if gpu_seconds[i] >= cpu_seconds[i]:
            break
        found = sizes[i]
    return found


def crossover_by_slices(sizes: Any, cpu_seconds: Any, gpu_seconds: Any) -> Any:
    faster = np.asarray(gpu_seconds) < np.asarray(cpu_seconds)
    return next((n for i, n in enumerate(sizes) if faster[i:].all()), None)


# --- time_correctly -------------------------------------------------------------------


def timing_cases() -> list[Case]:
    """Virtual GPUs: long and short work, a slow first call, work left over from before."""
    gpus = (
        ("work of 10 ms", VirtualGpu(work=10e-3)),
        ("work of 10 ms while the GPU still has earlier work", VirtualGpu(10e-3, pending=0.3)),
        ("work of 2 s", VirtualGpu(work=2.0, pending=1.0)),
        ("work of 50 µs, with one slow call in between", VirtualGpu(50e-6, slow_call=2)),
        ("work of 10 ms, with one slow call in between", VirtualGpu(10e-3, slow_call=3)),
    )
    return [
        Case(f"a GPU with {label}, repeats = {repeats}", (gpu, repeats))
        for (label, gpu), repeats in zip(gpus, (5, 3, 5, 7, 9), strict=True)
    ]


def run_timing(answer: Callable[..., Any], case: Case) -> Any:
    """Let an answer time a virtual GPU; a result counts only if enough calls were made."""
    gpu, repeats = case.args
    seconds = answer(gpu.run, gpu.synchronize, gpu.clock, repeats)
    if gpu.calls < repeats:
        times = "time" if gpu.calls == 1 else "times"
        raise Refused(f"it calls run() {gpu.calls} {times}, and repeats is {repeats}")
    return seconds


def timing_truth(case: Case) -> float:
    """What one call takes from launch to the end of its work."""
    gpu, _ = case.args
    return float(gpu.seconds_per_call)


def timing_difference(got: Any, expected: Any) -> str | None:
    """Times within 1 % are the same: the virtual GPU's calls vary by a tenth of that."""
    return compare.numbers_or_none(got, expected, relative=0.01)


def time_no_synchronize(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    times = []
    run()
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return statistics.median(times)


def time_no_warm_up(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    synchronize()
    start = clock()
    for _ in range(repeats):
        run()
    synchronize()
    return (clock() - start) / repeats


def time_mean(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    run()
    times = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return sum(times) / repeats


def time_once(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    run()
    synchronize()
    start = clock()
    run()
    synchronize()
    return clock() - start


def time_total(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    run()
    synchronize()
    start = clock()
    for _ in range(repeats):
        run()
    synchronize()
    return clock() - start


def time_milliseconds(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    return 1e3 * time_correctly(run, synchronize, clock, repeats)


def time_negative(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    return -time_correctly(run, synchronize, clock, repeats)


def time_slowest(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    run()
    times = []
    for _ in range(repeats):
        synchronize()
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return max(times)


def time_pending_counted(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        synchronize()
        times.append(clock() - start)
    return sum(times) / repeats


def time_with_generator(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    def once() -> Any:
        start = clock()
        run()
        synchronize()
        return clock() - start

    once()
    return statistics.median(once() for _ in range(repeats))


def time_two_warm_ups(run: Any, synchronize: Any, clock: Any, repeats: int) -> Any:
    for _ in range(2):
        run()
    synchronize()
    stamps = []
    for _ in range(repeats):
        begin = clock()
        run()
        synchronize()
        stamps.append((begin, clock()))
    return float(np.median([end - begin for begin, end in stamps]))


EXERCISES = (
    Exercise(
        name="matmul_loops",
        notebook=NOTEBOOK,
        task="Write C = A·B with three loops.",
        reference=matmul_loops,
        cases=matmul_cases,
        difference=compare.arrays,
        demand=hidden_loops,
        wrong=(
            Wrong(
                matmul_elementwise,
                "a * b multiplies element by element; C[i, j] is a sum over k.",
            ),
            Wrong(
                matmul_assigns,
                "each product overwrites the one before: only the last k is left in C[i, j]. "
                "Add with +=.",
            ),
            Wrong(matmul_short_sum, "the sum stops one early: k runs over all n, 0 to n − 1."),
            Wrong(matmul_skips_first, "the sum leaves out k = 0: k runs over all n, 0 to n − 1."),
            Wrong(matmul_b_transposed, "B is read as B[j, k]; the sum needs B[k, j]."),
            Wrong(matmul_a_transposed, "A is read as A[k, i]; the sum needs A[i, k]."),
            Wrong(matmul_result_transposed, "rows and columns of the result are swapped."),
            Wrong(matmul_swapped, "this is B·A; the order of a matrix product matters."),
            Wrong(
                matmul_square_only,
                "all three loops run to the same size; A is (m, n), B is (n, p), C is (m, p).",
            ),
            Wrong(
                matmul_integer_result,
                "the products lose their fractions: let C have the dtype of the inputs.",
            ),
            Wrong(
                matmul_running_sum,
                "the sum is never set back: each C[i, j] must start from zero.",
            ),
        ),
        right=(matmul_other_order, matmul_with_accumulator, matmul_by_dot_products),
    ),
    Exercise(
        name="matmul_flops",
        notebook=NOTEBOOK,
        task="Count the floating-point operations of C = A·B.",
        reference=matmul_flops,
        cases=flops_cases,
        wrong=(
            Wrong(
                lambda m, n, p: m * n * p,
                "that counts the products; each also takes an addition.",
            ),
            Wrong(
                lambda m, n, p: 2 * m * p,
                "that is two operations for each element of C; each takes n products and n sums.",
            ),
            Wrong(
                lambda m, n, p: m * p * (2 * n - 1),
                "so counted, n products take n − 1 additions. The convention, and every vendor's "
                "peak rate, counts n: the first is added to zero.",
            ),
            Wrong(
                lambda m, n, p: 2 * m**3,
                "that is right for square matrices only; m, n and p differ.",
            ),
            Wrong(
                lambda m, n, p: 2 * n**3,
                "that is right for square matrices only: n is just one of three sizes.",
            ),
            Wrong(
                lambda m, n, p: 2 * (m * n + n * p + m * p),
                "that counts the elements of the three matrices, not the operations.",
            ),
            Wrong(
                lambda m, n, p: m * n + n * p,
                "that counts the elements of A and B, not the operations.",
            ),
            Wrong(flops_int32, "the count overflows 32 bits: use Python's own integers."),
            Wrong(
                lambda m, n, p: 2 * m * n * p / 1e9,
                "that is in billions (GFLOP); count single operations.",
            ),
        ),
        right=(
            lambda m, n, p: m * p * (n + n),
            lambda m, n, p: float(m) * n * p * 2,
            lambda m, n, p: sum(2 * p for _ in range(1)) * m * n,
        ),
    ),
    Exercise(
        name="crossover",
        notebook=NOTEBOOK,
        task="Find the smallest size from which the GPU stays faster.",
        reference=crossover,
        cases=crossover_cases,
        wrong=(
            Wrong(
                crossover_first_lead,
                "that is the first size at which the GPU leads; further on it falls behind again. "
                "Find the size from which it stays ahead.",
            ),
            Wrong(
                crossover_last_loss,
                "that is the last size at which the CPU still wins, one too small.",
            ),
            Wrong(
                crossover_index,
                "that is a position in the table; return the size that stands there.",
            ),
            Wrong(crossover_cpu_faster, "CPU and GPU are swapped: fewer seconds are faster."),
            Wrong(
                crossover_tie_counts,
                "a tie is no lead: faster means fewer seconds, not as many.",
            ),
            Wrong(
                crossover_last_win,
                "that is the largest size at which the GPU wins; find the smallest.",
            ),
            Wrong(
                crossover_never_is_last,
                "where the GPU is never ahead to the end, there is no crossover: return None.",
            ),
            Wrong(
                crossover_never_is_zero,
                "0 is not a measured size: where there is no crossover, return None.",
            ),
        ),
        right=(crossover_backwards, crossover_by_slices),
    ),
    Exercise(
        name="time_correctly",
        notebook=NOTEBOOK,
        task="Mend the benchmark: warm up, synchronise, take the median of the repeats.",
        reference=time_correctly,
        cases=timing_cases,
        run=run_timing,
        expect=timing_truth,
        difference=timing_difference,
        wrong=(
            Wrong(
                time_no_synchronize,
                "the second clock() is read while the GPU still works, so only the launch is "
                "timed: call synchronize() between run() and that clock().",
            ),
            Wrong(
                time_no_warm_up,
                "the slow first call is in the result: call run() once before the timing starts.",
            ),
            Wrong(
                time_mean,
                "one slow call pulls the mean up: return the median of the repeats.",
            ),
            Wrong(time_once, "it times a single call; do it `repeats` times and take the median."),
            Wrong(time_total, "that is the time of all repeats together; return that of one call."),
            Wrong(time_milliseconds, "that is in milliseconds; return seconds."),
            Wrong(time_negative, "the time is negative: subtract the start from the end."),
            Wrong(time_slowest, "that is the slowest repeat; return the median."),
            Wrong(
                time_pending_counted,
                "the first timed call pays for the warm-up and for work left over from before: "
                "call run() and synchronize() once before the first clock().",
            ),
        ),
        right=(time_with_generator, time_two_warm_ups),
    ),
)

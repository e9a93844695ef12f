"""Kernels that go where they must not, ask for too much, or read what nobody wrote."""

from numba import float32

from simt import cuda

from .wrong import Mistakes, each, f4

CASES = Mistakes()


@CASES.add(
    (2, 32), lambda: (f4(50), f4(64)), "out-of-bounds", "out[i] = a[i]",
    guilty=lambda who: all(b[0] * 32 + t[0] >= 50 for b, t in who) and bool(who), array="a",
    index=lambda at, who: at == (who[0][0] * 32 + who[1][0],),
)  # fmt: skip
@CASES.add(
    (2, 32), lambda: (f4(64), f4(63)), "out-of-bounds", "out[i] = a[i]",
    guilty=lambda who: who == [((1, 0, 0), (31, 0, 0))], array="out",
    index=lambda at, who: at == (63,),
)  # fmt: skip
def reads_or_writes_past_the_end(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


def _third(axis: int) -> object:
    shape = [4, 4, 4]
    shape[axis] = 3
    return lambda: (f4(*shape), f4(4, 4, 4))


def reads_in_three_dimensions(a, out):
    x, y, z = cuda.grid(3)
    out[z, y, x] = a[z, y, x]


for _axis in range(3):
    CASES.add(
        (1, (4, 4, 4)), _third(_axis), "out-of-bounds", "a[z, y, x]", array="a",
        guilty=lambda who, k=2 - _axis: bool(who) and all(t[k] == 3 for _, t in who),
        index=lambda at, who: at == who[1][::-1],
    )(reads_in_three_dimensions)  # fmt: skip


@CASES.add(
    (1, 32), lambda: (f4(32),), "out-of-bounds", "s[t + 1]", guilty=each(lambda t: t == 31),
    array="s", index=lambda at, who: at == (32,),
)  # fmt: skip
def writes_past_a_shared_tile(out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t + 1] = out[t]
    cuda.syncthreads()
    out[t] = s[t]


@CASES.add(
    (1, 8), lambda: (f4(8),), "out-of-bounds", "box[out.size - t] = ",
    guilty=each(lambda t: t <= 4), array="box",
)  # fmt: skip
def writes_past_local_memory(out):
    box = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    box[out.size - t] = out[t]
    out[t] = box[out.size - t]


@CASES.add(
    (1, 32), lambda: (f4(32), f4(32)), "out-of-bounds", "a[i - 40]", guilty=each(lambda t: t < 8),
    array="a", index=lambda at, who: at in ((who[1][0] - 40,), (who[1][0] - 8,)),
)  # fmt: skip
def too_negative_to_wrap(a, out):
    i = cuda.grid(1)
    out[i] = a[i - 40]


@CASES.add(
    (1, 32), lambda: (f4(32), f4(32)), "negative-index", "a[i - 1]", guilty=each(lambda t: t == 0),
    array="a", index=lambda at, who: at == (-1,),
)  # fmt: skip
def negative_index_wraps(a, out):
    i = cuda.grid(1)
    out[i] = a[i - 1]


@CASES.add((1, 1025), lambda: (f4(1025),), "launch-limit")
@CASES.add((1, (1, 1, 65)), lambda: (f4(4),), "launch-limit")
@CASES.add(((1, 65536), 1), lambda: (f4(1),), "launch-limit")
@CASES.add((2**31, 1), lambda: (f4(1),), "launch-limit")
@CASES.add((0, 32), lambda: (f4(32),), "launch-limit")
def grid_or_block_that_no_gpu_takes(out):
    if cuda.grid(1) < out.size:
        out[cuda.grid(1)] = 1


@CASES.add((1, 32), lambda: (f4(32),), "launch-limit", "b = cuda.shared.array")
def too_much_shared_memory_in_two_arrays(out):
    a = cuda.shared.array(8192, float32)
    b = cuda.shared.array(8192, float32)
    t = cuda.threadIdx.x
    a[t] = out[t]
    b[t] = out[t]
    out[t] = a[t] + b[t]


@CASES.add(
    (1, 64), lambda: (f4(64),), "uninitialized-read", "out[t] = s[t]",
    guilty=each(lambda t: t >= 60), array="s",
)  # fmt: skip
def shared_memory_that_nobody_wrote(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < 60:
        s[t] = 1
    cuda.syncthreads()
    out[t] = s[t]


@CASES.add((1, 32), lambda: (f4(32),), "uninitialized-read", "total += box[k]", array="box")
def local_memory_that_nobody_wrote(out):
    box = cuda.local.array(4, float32)
    total = float32(0)
    for k in range(3):
        box[k] = k
    for k in range(4):
        total += box[k]
    out[cuda.threadIdx.x] = total


@CASES.add(
    (1, 32), lambda: (f4(32),), "uninitialized-read", "row[0] = 1", guilty=each(lambda t: t >= 4),
    stops=True,
)  # fmt: skip
def array_that_one_path_never_names(out):
    t = cuda.threadIdx.x
    if t < 4:
        row = out[t : t + 1]
    row[0] = 1

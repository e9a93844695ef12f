"""The dispatcher's surface: what programs ask of `cuda.jit` and of what it makes."""

import linecache
from collections import deque
from typing import Any

import numpy as np
import pytest
from numba import cuda as real
from numba import float32, float64, int64, void
from numba.core.errors import NumbaError

import simt
from simt import cuda
from simt.errors import KernelError

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")


def fill(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = value


def empty(a):
    pass


# --- options


@pytest.mark.parametrize(
    "options",
    [
        {"opt": False}, {"opt": True}, {"fastmath": True}, {"max_registers": 32},
        {"lineinfo": True}, {"cache": True}, {"inline": "always"}, {"inline": True},
        {"forceinline": True}, {"debug": True, "opt": False}, {"launch_bounds": 64},
        {"launch_bounds": (64, 2, 1)}, {"link": []}, {"link": ()}, {"lto": False},
        {"shared_memory_carveout": "MaxL1"}, {"shared_memory_carveout": 50}, {"extensions": []},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("signature", [(), ("void(float64[:], float64)",)], ids=["lazy", "typed"])
def test_numbas_options_are_taken(options: Any, signature: Any) -> None:
    a = np.zeros(40)
    cuda.jit(*signature, **options)(fill)[1, 64](a, 3.0)
    assert (a == 3).all()


def test_an_unknown_option_is_refused_where_the_kernel_is_compiled() -> None:
    kernel = cuda.jit(turbo=True)(fill)
    with pytest.raises(TypeError, match=r"cuda.jit has no option turbo=; it has cache, debug"):
        kernel[1, 32](np.zeros(4), 1.0)
    with pytest.raises(TypeError, match="turbo"):
        cuda.jit("void(float64[:], float64)", turbo=True)(fill)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"boundscheck": True}, NotImplementedError),
        ({"argtypes": (float32,)}, NumbaError),
        ({"restype": void}, NumbaError),
        ({"bind": True}, NumbaError),
        ({"device": True, "link": ["a.cu"]}, ValueError),
    ],
)
def test_an_option_that_numba_refuses_at_once(options: Any, kind: type) -> None:
    with pytest.raises(kind) as caught:
        cuda.jit(**options)
    assert isinstance(caught.value, KernelError)


def test_launch_bounds_are_kept() -> None:
    kernel = cuda.jit(launch_bounds=(128, 2))(empty)
    kernel[1, 128](np.zeros(1))
    with pytest.raises(KernelError, match="launch_bounds allows 128 threads in a block, got 256"):
        kernel[1, (16, 16)](np.zeros(1))


def test_code_of_another_compiler_is_named() -> None:
    with pytest.raises(KernelError, match="link= brings code of another compiler"):
        cuda.jit(link=["fast.cu"])(empty)[1, 1](np.zeros(1))


# --- overloads


def test_an_overload_for_each_set_of_argument_types() -> None:
    kernel = cuda.jit(fill)
    assert kernel.signatures == []
    kernel[1, 32](np.zeros(4, np.float32), 1)
    kernel[1, 32](np.zeros(4, np.float32), 2)
    kernel[1, 32](cuda.to_device(np.zeros(4)), 2.5)
    kernel[1, 32](np.zeros((4, 4))[1:, 0].copy(), 2.5)
    assert kernel.signatures == [(float32[::1], int64), (float64[::1], float64)]
    one = kernel.overloads[float32[::1], int64]
    assert one.signature == void(float32[::1], int64)
    assert one is kernel.overloads[kernel.signatures[0]]
    assert kernel.py_func is fill


@pytest.mark.parametrize(
    "ask",
    [
        lambda k: k.get_regs_per_thread(),
        lambda k: k.get_const_mem_size(k.signatures[0]),
        lambda k: k.inspect_asm(),
        lambda k: k.inspect_llvm(k.signatures[0]),
        lambda k: k.inspect_sass(),
        lambda k: k.overloads[k.signatures[0]].regs_per_thread,
        lambda k: k.overloads[k.signatures[0]].local_mem_per_thread,
    ],
)
def test_what_needs_the_compiler_says_so(ask: Any) -> None:
    kernel = cuda.jit("void(float64[:])")(empty)
    with pytest.raises(NotImplementedError, match="of empty is the compiler's to say") as caught:
        ask(kernel)
    assert isinstance(caught.value, KernelError)


# --- kernels of numba.cuda itself, under the lens


@real.jit(device=True)
def real_twice(x):
    return 2 * x


@real.jit
def real_kernel(a):
    tile = real.shared.array(32, float32)
    i, t = real.grid(1), real.threadIdx.x
    tile[t] = real_twice(t)
    real.syncthreads()
    if i < a.size:
        a[i] = tile[31 - t]


def test_a_kernel_of_numbas_own_is_launched_under_the_lens() -> None:
    a = np.zeros(64, np.float32)
    report = simt.xray(real_kernel)[2, 32](a)
    assert report.ok
    assert a.tolist() == [2.0 * (31 - t % 32) for t in range(64)]
    assert report.totals.barriers


# --- where the source is


def test_a_kernel_in_a_function_may_have_lines_at_the_margin() -> None:
    shift = 5

    # fmt: off
    @cuda.jit
    def kernel(out):
        """Its text and its comments
may begin anywhere."""
        nonlocal shift
        i = cuda.grid(1)
    # as here
        out[i] = i + shift
    # fmt: on

    out = np.zeros(2)
    kernel[1, 2](out)
    assert out.tolist() == [5, 6]
    with pytest.raises(KernelError, match=r"accesses out\[2\]") as e:
        kernel[1, 3](out)
    (finding,) = e.value.report.findings
    assert linecache.getline(__file__, finding.line).strip() == "out[i] = i + shift"


def test_lambdas_are_told_apart() -> None:
    double, (negate, square) = cuda.jit(device=True)(lambda x: 2 * x), (
        cuda.jit(device=True)(lambda x: -x), cuda.jit(device=True)(lambda x: x * (lambda y: y)(x)),
    )  # fmt: skip

    @cuda.jit
    def kernel(a):
        a[0] = double(3)
        a[1] = negate(3)

    a = np.zeros(2)
    kernel[1, 1](a)
    assert a.tolist() == [6, -3]
    assert square.py_func(3) == 9
    write = {"one": cuda.jit(lambda a: fill_one(a))}
    write["one"][1, 1](a)
    assert a[0] == 1


@cuda.jit(device=True)
def fill_one(a):
    a[0] = 1


TEXT = "def kernel(a):\n    a[0] = 7\n"


@pytest.fixture
def _no_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once `replace_numba_cuda` was called, a process remembers what exec() is given."""
    monkeypatch.setattr("simt.core.source._TEXTS", deque(maxlen=0))


@pytest.mark.usefixtures("_no_texts")
def test_text_that_exec_was_given_is_missed_and_how_to_give_it_is_said() -> None:
    scope: dict[str, Any] = {}
    exec(TEXT, scope)
    a = np.zeros(1)
    with pytest.raises(KernelError, match=r"kernel has no source text.*linecache.cache\[name\]"):
        cuda.jit(scope["kernel"])[1, 1](a)
    text, name = TEXT, "<made by hand>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)
    cuda.jit(scope["kernel"])[1, 1](a)
    assert a[0] == 7


@pytest.mark.usefixtures("_no_texts")
@pytest.mark.parametrize("program", [TEXT, TEXT.replace("7", "8"), "import sys"])
def test_the_program_of_python_c_is_not_taken_for_what_exec_was_given(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python 3.13 on its text is known under the name that exec() gives as well."""
    lines = program.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<string>", (len(program), None, lines, "<string>"))
    scope: dict[str, Any] = {}
    exec(TEXT, scope)
    a = np.zeros(1)
    if program == TEXT:
        cuda.jit(scope["kernel"])[1, 1](a)
        assert a[0] == 7
    else:
        with pytest.raises(KernelError, match="kernel has no source text"):
            cuda.jit(scope["kernel"])[1, 1](a)

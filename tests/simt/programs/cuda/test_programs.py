"""Whole CUDA programs: what they print, and what is found in them, as on a GPU."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from simt.errors import KernelError
from simt.host.settings import keep_going, unchecked
from simt.programs.cuda.run import CudaProgram
from simt.programs.launches import Launches

pytestmark = pytest.mark.usefixtures("_host_compiler")
HERE = Path(__file__).parent
TIMED = "times between events are those of this computer, not of a GPU"
_BUILT: dict[str, CudaProgram] = {}  # compiling takes longer than running


@pytest.fixture(scope="module", autouse=True)
def _programs():
    yield
    while _BUILT:
        _BUILT.popitem()[1].__exit__(None, None, None)


def run(file, capsys, *arguments, options=()):
    """The exit status, what is printed, and what is found."""
    if file not in _BUILT:
        _BUILT[file] = CudaProgram(HERE / file, options=options)
    launches = Launches(in_detail=False)
    status = _BUILT[file].run([*arguments], launches, captured=True)
    printed = capsys.readouterr()
    said = [re.sub(r"^.*/(?=\w+\.cu)", "", one) for one in launches.sentences()]
    return status, printed.out.splitlines(), said, printed.err


RIGHT = {
    "managed_add": ["largest error: 0"],
    "saxpy": ["worst: 0.000000", "timed: yes"],
    "matmul": ["the product is right"],
    "reduction": ["50005000 499.5"],
    "histogram": ["e: 300", "o: 400", "z: 100", "counted: 3500"],
    "transpose": ["   0 wrong, in order: true"],
    "streams": ["81 729 8", "ready: yes", "then 0", "and cudaSuccess"],
    "convolution": ["0 of 1000 differ"],
    "particles": ["particle 7: 10 3 4.5"],
    "device": [
        'GPU Device 0: "SIMT machine" with compute capability 8.0',
        "",
        "1 SIMT machine 8.0 warp 32, 1024 threads, 8 blocks",
        "at most 200: 16 blocks of 128",
        "0 1 2 3 before the kernel",
        "hello from 0 of block 0, 0.5 %",
        "hello from 0 of block 1, 0.5 %",
        "after",
    ],
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_program_gives_what_it_gives_on_a_gpu(name, capsys):
    status, printed, said, _ = run("all.cu", capsys, name)
    assert printed == RIGHT[name]
    assert said == [TIMED] * (name in ("saxpy", "transpose"))
    assert status == (3 if name == "device" else 0)


# what each mistake prints, and for each finding the mark of its line and words of it
WRONG = {
    "out_of_bounds": (
        ["launch: cudaSuccess", "wait: cudaErrorIllegalAddress", "again: cudaErrorIllegalAddress"],
        {"out of bounds": "thread 0 of block 2 accesses out[256], out of bounds"},
    ),
    "nothing_to_copy": ([], {}),
    "no_bytes": ([], {"no bytes": "; give its bytes as the third launch value, kernel<<<grid, "}),
    "forgotten_copy": (["0"], {"": "no result of a kernel ever comes back to the host"}),
    "wrong_direction": (
        ["copy: cudaErrorInvalidValue"] * 2,
        {
            "direction": "that is cudaMemcpyHostToDevice; the target comes first",
            "direction back": "that is cudaMemcpyDeviceToHost; the target comes first",
        },
    ),
    "elements_for_bytes": (
        ["2 wrong", "copy: cudaErrorInvalidValue"],
        {
            "elements for bytes": "thread 64 of block 0 reads in[64] in global memory",
            "too large": "takes 1,024 bytes, and it goes to device memory (256 bytes from line",
        },
    ),
    "no_wait": (
        ["1", "3", "3"],
        {
            "reads too early": "while fill, launched in line 102, may still write it",
            "writes too early": "while twice, launched in line 107, may still read it",
        },
    ),
    "atomics": (
        ["164"],
        {"atomic on one side": "the host writes last (4 bytes from line 275) while counted, "},
    ),
    "flags": (["1"], {"flag read once": "the host writes flag (5 bytes from line 302) while look"}),
    "stuck": ([], {"stuck": "this loop waits forever: while it runs, no thread changes what it"}),
    "early_result": (
        ["5", "3"],
        {"pinned too early": "the host reads pinned memory (1,024 bytes from line 118) while the"},
    ),
    "bad_launch": (
        [
            "launch: cudaErrorInvalidConfiguration", "launch: cudaErrorInvalidConfiguration",
            "after: cudaSuccess", "launch: cudaErrorInvalidConfiguration",
            "launch: cudaErrorInvalidValue", "launch: cudaSuccess", "12 of 256",
        ],
        {
            "too many threads": "the launch of fill fails, a block has at most 1,024 threads",
            "no block": "a launch needs at least one block of one thread",
            "too much shared memory": "a block has at most 49,152 bytes of shared memory",
        },
    ),
    "race": (
        ["wait: cudaSuccess"],
        {"race": "race on sum[0] in global memory", "no barrier read": "race on s[255] in shared"},
    ),
    "host_reads": (["here"], {"host reads": "the host goes to device memory (1,024 bytes from"}),
    "host_copies": ([], {"host copies": "the host goes to device memory (1,024 bytes from"}),
    "host_pointer": (
        ["wait: cudaErrorIllegalAddress"],
        {"out of bounds": "it is memory of the host, which this kernel cannot"},
    ),
    "null_pointer": ([], {"null": "the host goes to a null pointer"}),
    "freed": (
        ["free: cudaErrorInvalidValue", "wait: cudaErrorIllegalAddress"],
        {
            "second": "cudaFree is given device memory (1,024 bytes from line 51), freed in line",
            "out of bounds": "(1,024 bytes from line 51), freed in line 191",
        },
    ),
    "leak": ([], {"leak": "1,024 bytes of memory are allocated here and never freed"}),
    "failed_assertion": (
        ["wait: cudaErrorAssert"],
        {"assert": "thread 31 of block 0 fails the assertion `threadIdx.x < limit`"},
    ),
    "lambda": (["0 2 4"], {}),
    "silent": ([], {"-": "what the last kernels print is lost"}),
    "pointers": (
        ["2", "1", "wait: cudaErrorIllegalAddress"],
        {"pointers": "thread 1 of block 0 goes to the address"},
    ),
    "odd_calls": (
        [
            "busy: cudaErrorNotReady", "done: cudaSuccess",
            "elapsed: cudaErrorInvalidResourceHandle", "device: cudaErrorInvalidDevice",
            "stream: cudaErrorInvalidResourceHandle", "memory: cudaErrorMemoryAllocation",
            "free: cudaErrorInvalidValue", "free: cudaErrorInvalidValue", "2048 used",
        ],
        {
            "never recorded": "an event that was never recorded is asked for its time",
            "device 3": "device 3 is asked for, of one",
            "stream": "there is no such stream",
            "memory": "1,099,511,627,776 bytes are asked for",
            "host free": "cudaFree is given memory of the host",
            "wrong free": "which is device memory: give its first address to cudaFree",
        },
    ),
}  # fmt: skip
STATUS = {"out_of_bounds": 1, "host_reads": 139, "host_copies": 139, "null_pointer": 139}


def line_of(mark, file):
    """The line of a mark in a file."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    return next(n for n, text in enumerate(lines, 1) if f"[{mark}]" in text)


def place(mark, file="mistakes.cu"):
    """How a finding begins that stands at a mark of a file."""
    if mark == "-":
        return ""
    return f"{file}:{line_of(mark, file)}: " if mark else f"{file}: "


def is_said(said, found, file="mistakes.cu"):
    """Each of what is to be found is said at its mark of a file, with its words, and no more is."""
    said = [re.sub(r"^.*/(?=\w+\.cu)", "", one) for one in said]
    assert len(said) == len(found), said
    for mark, words in found.items():
        begins = place(mark, file)
        assert any(one.startswith(begins) and words in one for one in said), (mark, said)


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_does_what_it_does_on_a_gpu_and_is_named_with_its_line(name, capsys):
    printed, found = WRONG[name]
    status, out, said, err = run("mistakes.cu", capsys, name)
    assert out == printed
    assert status == STATUS.get(name, 0)
    assert ("SIGSEGV" in err) == (status == 139)
    is_said(said, found)


def test_checks_can_be_left_out_and_an_access_out_of_bounds_passed_over(capsys):
    with unchecked():
        assert run("mistakes.cu", capsys, "race")[2] == []
        assert run("mistakes.cu", capsys, "flags")[1] == ["1"]
        assert len(run("mistakes.cu", capsys, "pointers")[2]) == 1
    with keep_going():
        status, out, said, _ = run("mistakes.cu", capsys, "out_of_bounds")
    assert (status, out[1:]) == (1, ["wait: cudaSuccess", "again: cudaSuccess"])
    assert said[0].startswith(place("out of bounds"))


def test_what_a_compiler_refuses_is_named_with_file_and_line(tmp_path):
    (tmp_path / "beside.cuh").write_text("#pragma once\n__device__ int f() { return undefined; }\n")
    program = tmp_path / "p.cu"
    program.write_text(
        '#include "beside.cuh"\n__global__ void k(int* x) { *x = f(); }\nint main() {}\n'
    )
    with pytest.raises(KernelError, match=r'beside\.cuh\(2\): error: identifier "undefined" is'):
        CudaProgram(program)
    program.write_text("__global__ void k(int* x) {}\n\nint main() {\n  k<<<1, 1>>>(1.5);\n}\n")
    with pytest.raises(KernelError, match=r"p\.cu\(4\): error: "):
        CudaProgram(program)


# what only nvcc reads: what each function prints, and words of what is found
WIDE = {
    "overloads": ("7 7.5 0.0999756", None),
    "managed": ("69", None),
    "together": ("1 0", None),
    "apart": ("cudaErrorAssert", "on the GPU at once: use cudaLaunchCooperativeKernel"),
    "heap": ("3 1", None),
    "beyond_the_heap": ("cudaErrorIllegalAddress", "accesses heap[2], out of bounds"),
    "last_block": ("28", None),
    "third_block": ("0", "race on finished[0] in global memory"),
    "rounding": ("16777216 16777218 -16777216 0.099999994 16777218", None),
    "nothing": ("0 0 0", None),
    "askew": ("cudaErrorMisalignedAddress", "accesses 16 bytes at once from byte 4 of x on"),
    "lacking": ("cudaErrorNotSupported", "cudaIpcGetEventHandle is not covered: it gives"),
    "one_based": ("12 12", None),
    "structure": ("1 11 32 32", None),
    "aliased": ("1", "race on same[0] in global memory"),
    "packed": ("0 5 5 25", "the host reads managed memory (4 bytes from line 241) while wait"),
    "followed": (
        "3 27",
        "the host writes factor (4 bytes from line 275) while follow, launched in line 279",
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_what_only_nvcc_reads(name, capsys):
    printed, finding = WIDE[name]
    status, out, said, _ = run("wide.cu", capsys, name)
    assert (status, out) == (0, [printed])
    assert len(said) == (finding is not None), said
    assert all(re.match(r"wide\.cu:\d+: ", one) and finding in one for one in said)


def test_a_kernel_in_a_header_has_that_file_s_lines_and_names(tmp_path):
    (tmp_path / "k.cuh").write_text("__global__ void k(int* all) {\n    all[threadIdx.x] = 1;\n}\n")
    program = tmp_path / "p.cu"
    program.write_text(
        '#include "k.cuh"\nint main() {\n    int* x;\n    cudaMalloc(&x, 128);\n'
        "    k<<<1, 33>>>(x);\n    return cudaDeviceSynchronize() != 700;\n}\n"
    )
    launches = Launches(in_detail=False)
    with CudaProgram(program) as built:
        assert built.run([], launches) == 0
    (sentence,) = launches.sentences()
    assert sentence.endswith(
        "k.cuh:2: thread 32 of block 0 accesses all[32], out of bounds: all has length 32"
    )


def test_a_library_of_the_toolkit_runs(capsys):
    assert run("library.cu", capsys) == (0, ["116 of 4"], [], "")


CHILDREN = {
    (): (0, ["a text of its own: 0, 0", "0 105 10", "1 2 3 4"], []),
    ("1",): (0, [], [": grids launch grids deeper than the 24 levels that a GPU allows"]),
    ("2",): (700 % 256, [], [
        " in global memory: thread 1 of block 0 reads it",
        "race on a: the grid launched here writes it, a parent of it reads it after the launch",
        "accesses tree[32], out of bounds"]),
    ("4",): (700 % 256, [], [
        "a thread has 4 bytes copied from shared memory of another grid, which no copy reaches",
        "a block has at most 49,152 bytes of shared memory unless a CUDA C++ program asks for",
        "it is shared memory of another grid, which this kernel cannot reach"]),
    ("5",): (0, [], [": race on tree: the grid launched here reads it, and that of line 56 on"]),
    ("3",): (0, [*["20 11 21 "] * 2, "30 30 31 31 "], []),  # conditions, which kernels set
}  # fmt: skip


@pytest.mark.parametrize("arguments", CHILDREN)
@pytest.mark.parametrize("checked", [True, False])
def test_what_kernels_launch_comes_after_them_in_its_order(arguments, checked, capsys):
    status, printed, found = CHILDREN[arguments]
    with nullcontext() if checked else unchecked():
        done = run("child_grids.cu", capsys, *arguments, options=["-rdc=true"])
    assert done[:2] == (status, printed)
    said = [one for one in done[2] if ": " in one]
    assert len(said) == len(found[0 if checked else {("2",): 2, ("5",): 1}.get(arguments, 0) :])
    lines = (HERE / "child_grids.cu").read_text(encoding="utf-8").splitlines()
    for one, words in zip(reversed(said), reversed(found), strict=False):
        assert words in one
        line = re.search(
            r"(?:on line |^child_grids.cu:)(\d+)(?:$|: grids|: a |: it is|: race on \w+:)", one
        )
        assert "// here" in lines[int(line[1]) - 1]

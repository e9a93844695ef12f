"""A `.cu` file on the command line, and `%%cuda` in a notebook."""

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from simt.errors import BadInput, KernelError
from simt.programs import command_line
from simt.programs.cuda import nvcc

pytestmark = pytest.mark.usefixtures("_host_compiler")
HERE = Path(__file__).parent


def command(*arguments, cwd=HERE, **more):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "simt", "run", *arguments],
        capture_output=True, text=True, check=False, cwd=cwd, env=os.environ | more,
    )  # fmt: skip


def test_a_program_has_its_own_arguments_output_and_status_and_reports(tmp_path):
    page = tmp_path / "page.html"
    done = command("--report", str(page), "saxpy.cu", "x", "7")
    assert done.stdout.splitlines() == ["worst: 0.000000", "timed: yes"]
    assert done.stderr == "times between events are those of this computer, not of a GPU\n"
    assert done.returncode == 7
    text = page.read_text(encoding="utf-8")
    assert "<h2>saxpy</h2>" in text
    assert "y[i] = a * x[i] + y[i]" in text


def test_without_a_compiler_for_the_host_part_one_sentence_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    nvcc.runtime_library.cache_clear()  # a process that has it asks no more
    assert command_line.main([str(HERE / "saxpy.cu")]) == 2
    said = "nvcc needs g++ for the program's host part: install it\n"
    assert capsys.readouterr() == ("", said)
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: None)
    assert command_line.main([str(HERE / "saxpy.cu")]) == 2
    said = "a CUDA program needs NVIDIA's compiler nvcc, no GPU: pip install "
    assert capsys.readouterr().err.startswith(said)


def test_a_makefile_builds_with_it_and_what_is_built_runs(tmp_path):
    (tmp_path / "kernel.cu").write_text(
        "__global__ void fill(int* x) {\n    x[threadIdx.x] = 1;\n}\n"
        "void launch(int* x) {\n    fill<<<1, 33>>>(x);\n}\n"
    )
    (tmp_path / "main.cpp").write_text(
        "#include <cuda_runtime.h>\nvoid launch(int*);\nint main() {\n    int* x;\n"
        "    cudaMalloc(&x, 128);\n    launch(x);\n    return cudaDeviceSynchronize() != 700;\n}\n"
    )
    nvcc = [sys.executable, "-m", "simt", "nvcc", "-arch=sm_90", "-gencode", "arch=compute_90"]
    for words in (["-c", "kernel.cu"], ["-o", "both", "kernel.o", "main.cpp"]):
        subprocess.run([*nvcc, *words], check=True, cwd=tmp_path)
    for how in (["both"], ["--nvcc=kernel.cu", "main.cpp"]):
        done = command(*how, cwd=tmp_path)
        assert done.returncode == 0
        assert done.stderr.startswith(
            "kernel.cu:2: thread 32 of block 0 accesses x[32], out of bounds"
        )


ENDLESS = """#include <unistd.h>
__global__ void fill(int* x) {
    x[threadIdx.x] = 1;
}
int main() {
    int* x;
    cudaMalloc(&x, 128);
    fill<<<1, 33>>>(x);
    cudaDeviceSynchronize();
    for (;;) sleep(1);
}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_findings_are_told_at_once_and_a_program_that_is_stopped_has_its_report(tmp_path, number):
    (tmp_path / "endless.cu").write_text(ENDLESS)
    run = [sys.executable, "-m", "simt", "run", "--report", "pages", "endless.cu"]
    with subprocess.Popen(run, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        told = process.stderr.readline()  # while the program goes on
        process.send_signal(number)
        rest = process.stderr.read()
    assert told.startswith("endless.cu:3: thread 32 of block 0 accesses x[32], out of bounds")
    assert rest.count(":3:") == 0
    assert process.returncode == 128 + number
    assert "out of bounds" in (tmp_path / "pages" / "fill.html").read_text(encoding="utf-8")


def test_unchecked_the_memory_of_a_device_is_new(tmp_path):
    (tmp_path / "sums.cu").write_text(
        "#include <cstdio>\n__global__ void add(int* x) { x[threadIdx.x] += 5; }\n"
        "int main() {\n    int *x, y[32];\n    cudaMalloc(&x, sizeof y);\n    add<<<1, 32>>>(x);\n"
        "    cudaMemcpy(y, x, sizeof y, cudaMemcpyDefault);\n    cudaFree(x);\n"
        '    printf("%d\\n", y[31]);\n}\n'
    )
    fast, checked = command("--fast", "sums.cu", cwd=tmp_path), command("sums.cu", cwd=tmp_path)
    assert (fast.stdout, fast.stderr) == ("5\n", "")
    assert "reads x[0] in global memory, which nobody has written" in checked.stderr


def test_a_copy_from_pageable_memory_has_arrived_as_on_a_gpu_though_no_stream_waits(tmp_path):
    (tmp_path / "apart.cu").write_text(
        "#include <cstdio>\n__global__ void twice(int* x) { x[threadIdx.x] *= 2; }\n"
        "int main() {\n    int *x, y[32] = {21};\n    cudaStream_t s;\n"
        "    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);\n    cudaMalloc(&x, sizeof y);\n"
        "    cudaMemcpy(x, y, sizeof y, cudaMemcpyDefault);\n    twice<<<1, 32, 0, s>>>(x);\n"
        "#ifdef FILL\n    cudaMemset(x, 0, sizeof y), twice<<<1, 32, 0, s>>>(x);\n#endif\n"
        "    cudaStreamSynchronize(s), cudaMemcpy(y, x, sizeof y, cudaMemcpyDefault);\n"
        '    cudaFree(x), printf("%d\\n", *y);\n}\n'
    )
    fast, checked = command("--fast", "apart.cu", cwd=tmp_path), command("apart.cu", cwd=tmp_path)
    assert (fast.stdout, fast.stderr, checked.stdout) == ("42\n", "", "42\n")
    assert checked.stderr.startswith(
        "apart.cu:9: twice on s reads x, which the copy to the device of line 8 on the default "
        "stream writes, and nothing says which comes first (a copy from memory that is not pinned "
        "may go on after its call): record an event on the default stream after line 8"
    )
    assert command("--fast", "--nvcc=-DFILL", "apart.cu", cwd=tmp_path).stdout == "0\n"


def test_a_program_may_be_compiled_for_a_default_stream_per_thread(tmp_path):
    (tmp_path / "two.cu").write_text(
        "#include <cstdio>\n__global__ void put(int* x, int n) { x[threadIdx.x] = n; }\n"
        "int main() {\n    int *x, y[32];\n    cudaStream_t other;\n    cudaStreamCreate(&other);\n"
        "    cudaMalloc(&x, sizeof y);\n    put<<<1, 32>>>(x, 1);\n"
        "    put<<<1, 32, 0, other>>>(x, 2);\n    cudaDeviceSynchronize();\n"
        "    cudaMemcpy(y, x, sizeof y, cudaMemcpyDefault);\n    cudaFree(x);\n"
        '    printf("%d\\n", y[31] > 0);\n}\n'
    )
    legacy = command("two.cu", cwd=tmp_path)
    done = command("--nvcc=--default-stream per-thread", "two.cu", cwd=tmp_path)
    assert (legacy.stdout, legacy.stderr) == ("1\n", "")  # one waits for the other
    assert done.stdout == "1\n"
    assert done.stderr.startswith("two.cu:9: put on other writes x, which put of line 8")


COPIES = """#include <cstdio>
__global__ void copies(int* p, int n) {
    int* own = (int*)malloc(8);
    own[0] = 3;
    cudaMemcpyAsync(p, own, 4, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpyAsync(p + 1, p, n, cudaMemcpyDeviceToDevice, 0);
}
int main() {
    int* p;
    cudaMallocManaged(&p, 32);
    copies<<<1, 1>>>(p, 32);
    cudaDeviceSynchronize();
    printf("%d\\n", p[0]);
    cudaFree(p);
}
"""


def test_a_copy_that_a_thread_asks_for_stays_within_its_memory(tmp_path):
    (tmp_path / "copies.cu").write_text(COPIES)
    done = command("--nvcc=-rdc=true", "copies.cu", cwd=tmp_path)
    assert done.stdout == "3\n"
    assert done.stderr.startswith("copies.cu:6: a thread has 32 bytes copied to p (32 bytes from")


PARTS = {
    "main.cu": """#include <cstdio>
#include "part.cuh"
static __device__ __noinline__ int own(int x) { int t[2] = {x + 1}; return t[square(x) - x * x]; }
__global__ void k(int* out) {
    out[threadIdx.x] = square(own(threadIdx.x)) + total;
    if (threadIdx.x == 33) printf("first\\n");
}
int main() {
    int* x;
    cudaMallocManaged(&x, 34 * sizeof(int));
    k<<<1, 34>>>(x);
    cudaDeviceSynchronize();
    second(x);
    printf("%d %d\\n", x[3], x[4]);
    cudaFree(x);
}
""",
    "part.cuh": "extern __device__ int total;\n__device__ int square(int);\nvoid second(int*);\n",
    "part.cu": """#include <cstdio>
#include "part.cuh"
__device__ int total = 100;
__device__ int square(int x) { int t[40]; for (int& y : t) y = x * (&y - t); return t[x]; }
static __device__ __noinline__ int own(int x) { return 10 * x; }
__global__ void k2(int* out) {
    out[4] = own(total);
    printf("second\\n");
    out[34] = 0;
}
void second(int* x) {
    k2<<<1, 1>>>(x);
    cudaDeviceSynchronize();
}
""",
}


def prints_of_both_parts(done):
    assert done.stdout.splitlines() == ["first", "second", "116 1000"]
    assert done.stderr.startswith("part.cu:9: thread 0 of block 0 accesses out[34], out of bounds")


def test_device_code_of_several_files_is_linked(tmp_path):
    for name, text in PARTS.items():
        (tmp_path / name).write_text(text)
    prints_of_both_parts(command("--nvcc=-rdc=true part.cu", "main.cu", cwd=tmp_path))


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_cmake_builds_with_it(tmp_path):
    for name, text in PARTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(parts LANGUAGES CXX CUDA)\n"
        "find_package(CUDAToolkit REQUIRED)\nadd_executable(parts main.cu part.cu)\n"
        "set_target_properties(parts PROPERTIES CUDA_SEPARABLE_COMPILATION ON)\n"
        "target_link_libraries(parts CUDA::cudart CUDA::cuda_driver)\n"
    )
    compiler = tmp_path / "simt-nvcc"
    compiler.write_text(f'#!/bin/sh\nexec {sys.executable} -m simt nvcc "$@"\n')
    compiler.chmod(0o755)
    own = os.environ | {"CUDACXX": str(compiler)}
    for words in (["-S", ".", "-B", "build"], ["--build", "build"]):
        subprocess.run(["cmake", *words], check=True, cwd=tmp_path, env=own, capture_output=True)
    prints_of_both_parts(command("build/parts", cwd=tmp_path))


CELL = r"""#include <cstdio>
#include <cstdlib>
__global__ void racy(int* x) { x[0] += 1; }
int main(int argc, char** argv) {
    int* x;
    cudaMalloc(&x, 4);
    cudaMemset(x, 0, 4);
    racy<<<1, 32>>>(x);
    printf("%s %d\n", argv[1], cudaDeviceSynchronize());
    cudaDeviceReset();
    return 3;
}
"""


@pytest.mark.skipif(find_spec("IPython") is None, reason="a cell's magic needs IPython")
def test_a_cell_is_a_program(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "simt")
        assert shell.run_cell("%%cuda --sanitize word\n" + CELL).success
        printed = capsys.readouterr()
        assert printed.out == "word 0\n"
        race, status = printed.err.splitlines()
        # the line of the magic counts
        assert race.startswith("cell.cu:4: race on x[0] in global memory")
        assert status == "the program ends with status 3"
        assert shell.run_cell("%%cuda\nint main() {\n    return 130;\n}\n").success
        assert capsys.readouterr().err == "the program ends with status 130\n"
        refused = shell.run_cell("%%cuda\nint main() {\n    return nothing;\n}\n")
        assert isinstance(refused.error_in_exec, KernelError)
        assert str(refused.error_in_exec).startswith("cell.cu(3): error: ")
        assert "    return nothing;" in str(refused.error_in_exec)
        odd = shell.run_cell("%%cuda --report\nint main() {}\n")
        assert isinstance(odd.error_in_exec, BadInput)
        assert "expected one argument" in str(odd.error_in_exec)
    finally:
        InteractiveShell.clear_instance()

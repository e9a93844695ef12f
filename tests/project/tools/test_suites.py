"""What `make suites` makes of a suite: its labels, what counts as found, the row that it prints."""

import pytest

from tools import suites

KERNEL = """//{label}
//--blockDim=64 --gridDim=2

__global__ void k(int* p, unsigned n) {{
    __requires(n == 7);
    __shared__ int s[64];
    s[threadIdx.x] = n;
    {barrier}
    p[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
    __assert(n == 7);
}}
"""


def test_labels_are_read_off_names_and_tests(tmp_path):
    for name in ("race_a", "norace_b"):
        (tmp_path / "microbenchmarks" / "src").mkdir(parents=True, exist_ok=True)
        (tmp_path / "microbenchmarks" / "src" / f"{name}.cu").write_text("")
    labels = {p.name: p.faulty for p in suites.scor(tmp_path)}
    assert labels == {"race_a": True, "norace_b": False}
    folder = tmp_path / "generatedCodes" / "CUDA"
    folder.mkdir(parents=True)
    for name in ("BFS_RaceBug_NoBoundsBug", "CC_NoRaceBug"):
        (folder / f"{name}.cu").write_text("")
    labels = {p.name: p.faulty for p in suites.indigo3(tmp_path)}
    assert labels == {"BFS_RaceBug_NoBoundsBug": True, "CC_NoRaceBug": False}


def test_a_sample_has_one_bug_in_turn_of_each_kind(tmp_path):
    folder = tmp_path / "generatedCodes" / "CUDA"
    folder.mkdir(parents=True)
    kinds = ("RaceBug_NoSyncBug", "NoRaceBug_SyncBug", "RaceBug_SyncBug", "NoRaceBug_NoSyncBug")
    for code in ("BFS", "CC", "SSSP_CUDA_E_Data"):  # the last one is faulty whatever its label
        for kind in kinds:
            (folder / f"{code}_{kind}.cu").write_text("")
    drawn = suites.sampled(list(suites.indigo3(tmp_path)), 3, 1)
    assert {kind: len(group) for kind, group in drawn.items()} == {"right": 3, "Race": 1, "Sync": 1}
    faulty = [p.name for group in drawn.values() for p in group if suites.held(p.name)]
    assert faulty == ["SSSP_CUDA_E_Data_NoRaceBug_NoSyncBug"]


@pytest.mark.usefixtures("_host_compiler")
def test_what_was_found_counts_where_a_program_has_to_be_stopped(tmp_path, capsys):
    folder = tmp_path / "microbenchmarks" / "src"
    folder.mkdir(parents=True)
    for name, threads in (("race_on", 64), ("race_off", 1)):
        (folder / f"{name}.cu").write_text(f"""
            __global__ void k(int* p) {{ *p = threadIdx.x; }}
            int main() {{
                int* p;
                cudaMalloc(&p, 4);
                k<<<1, {threads}>>>(p);
                for (;;) cudaDeviceSynchronize();
            }}""")
    assert suites.main([f"scor={tmp_path}", "--seconds", "3"]) == 0
    assert "| scor | 2 | 2 stopped | 1 of 1 | 0 of 0 |" in capsys.readouterr().out


@pytest.mark.usefixtures("_nvrtc")
def test_kernels_are_launched_and_counted_by_their_labels(tmp_path, capsys):
    wait = "__syncthreads();"
    for name, label, barrier in (
        ("right", "pass", wait),
        ("wrong", "xfail:NOT_ALL_VERIFIED", ""),
        ("missed", "xfail:NOT_ALL_VERIFIED", wait),
        ("alarm", "pass", ""),
    ):
        folder = tmp_path / "testsuite" / "CUDA" / name
        folder.mkdir(parents=True)
        (folder / "kernel.cu").write_text(KERNEL.format(label=label, barrier=barrier))
    assert suites.main([f"gpuverify={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "| gpuverify | 4 | 4 compiled | 1 of 2 | 1 of 2 |" in printed
    assert "missed: missed" in printed
    assert "false alarm: alarm" in printed

"""`python -m gpulearn` on this machine, and on machines that are forced."""

import json
import os
import subprocess
import sys

import pytest

from gpulearn import machine_report as report
from simt.device import driver, selection
from simt.device.driver import Gpu
from simt.device.selection import Selection

H200 = Gpu("NVIDIA H200", 141 * 2**30, (9, 0), "13.0")


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "gpulearn", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_text_and_json_say_the_same():
    text, data = run(GPULEARN_DEVICE="cpu"), run("--json", GPULEARN_DEVICE="cpu")
    assert (text.returncode, text.stderr, data.stderr) == (0, "", "")
    found = json.loads(data.stdout)
    assert found["device"] == "cpu"
    assert found["cores"] >= 1
    assert 2**30 < found["memory_bytes"] < 2**50
    assert found["torch"]["gloo"] is True
    assert f"numba {found['versions']['numba']}" in text.stdout
    for part, what in found["parts"].items():
        assert f"Part {part}: {what}" in text.stdout


def test_a_wrong_setting_is_one_sentence():
    done = run(GPULEARN_DEVICE="tpu")
    assert done.returncode == 2
    assert done.stderr == "GPULEARN_DEVICE='tpu' is not a device: set it to cpu, gpu or auto.\n"


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(
        selection, "current", lambda: Selection("gpu", f"{H200} runs kernels", (H200,))
    )
    monkeypatch.setattr(driver, "version", lambda: "580.65.06")


def test_on_a_gpu_machine(on_gpu, monkeypatch):
    torch = {"cuda": "13.0", "gpu": True, "gloo": True, "nccl": True}
    monkeypatch.setattr(report, "torch_report", lambda: torch)
    text = report.as_text(report.report())
    assert "GPU      NVIDIA H200, 141 GiB, driver 580.65.06 for CUDA 13.0" in text
    assert "Part 1 The machine: the GPU, live" in text
    assert "Part 4 Many GPUs: the GPUs, by NCCL" in text
    assert "torch    built for CUDA 13.0; ranks talk by gloo, nccl" in text


def test_a_gpu_with_a_cpu_build_of_torch(on_gpu, monkeypatch):
    torch = {"cuda": None, "gpu": False, "gloo": True, "nccl": False}
    monkeypatch.setattr(report, "torch_report", lambda: torch)
    found = report.report()
    assert "torch with CUDA" in found["missing"]
    assert "by gloo" in found["parts"]["4 Many GPUs"]


def test_what_is_missing_names_the_command(monkeypatch):
    installed = report.installed
    monkeypatch.setattr(report, "installed", lambda n: None if n == "torch" else installed(n))
    monkeypatch.setattr(report, "torch_report", dict)
    text = report.as_text(report.report())
    assert "torch (timing, training and ranks): pip install uv && python -m uv pip" in text
    assert "Part 3 Gradient descent: nothing: torch is not installed" in text


def test_memory_elsewhere(monkeypatch):
    class Kernel32:
        def GetPhysicallyInstalledSystemMemory(self, kilobytes):
            kilobytes._obj.value = 2**24

    class Loaded:
        def __new__(cls, name):
            return Kernel32()

    monkeypatch.setattr("ctypes.WinDLL", Loaded, raising=False)
    assert report.memory("win32") == 2**34


@pytest.mark.parametrize("asked", [{}, {"GPULEARN_DEVICE": "cpu"}])
def test_banner_is_two_lines_that_fit_beside_a_file_browser(capsys, monkeypatch, asked):
    here = selection.decide(asked, gpus=())
    monkeypatch.setattr(selection, "current", lambda: here)
    report.banner()
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("gpulearn ")
    assert selection.cpu_name() in first
    assert second.startswith(f"{here.reason}: kernels run on the SIMT machine")
    assert len(second) <= 104

"""The one answer to "is there a usable GPU", with every branch forced."""

import ctypes
import os
import subprocess
import sys

import pytest

import simt
from simt.device import driver, numba_cuda, selection
from simt.device.driver import Gpu
from simt.device.selection import decide, run_probe
from simt.errors import DeviceError

T4 = Gpu("Tesla T4", 16 * 2**30, (7, 5), "12.4")


class FakeDriver:
    """The few calls of the CUDA driver API that are used, for two GPUs."""

    def __init__(self, init=0, count=2):
        self.init, self.count = init, count

    def cuInit(self, flags):
        return self.init

    def cuDeviceGetCount(self, count):
        count._obj.value = self.count
        return 0

    def cuDriverGetVersion(self, version):
        version._obj.value = 13010
        return 0

    def cuDeviceGet(self, handle, number):
        handle._obj.value = number
        return 0

    def cuDeviceGetName(self, name, size, handle):
        name.value = f"GPU {handle.value}".encode()
        return 0

    def cuDeviceTotalMem_v2(self, memory, handle):
        memory._obj.value = (handle.value + 1) * 2**34
        return 0

    def cuDeviceGetAttribute(self, value, attribute, handle):
        value._obj.value = {75: 9, 76: 0}[attribute]
        return 0


def test_driver_is_read():
    first, second = driver.gpus(FakeDriver())
    assert first == Gpu("GPU 0", 2**34, (9, 0), "13.1")
    assert second.name == "GPU 1"
    assert second.memory == 2**35
    assert str(first) == "GPU 0 (16 GiB, driver for CUDA 13.1)"


def test_driver_that_does_not_start_or_is_missing_lists_nothing(monkeypatch):
    assert driver.gpus(FakeDriver(init=100)) == ()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: exec("raise OSError"))
    assert driver.gpus() == ()


class FakeNvml:
    def nvmlInit_v2(self):
        return 0

    def nvmlSystemGetDriverVersion(self, version, size):
        version.value = b"580.65.06"
        return 0


def test_driver_version(monkeypatch):
    assert driver.version(FakeNvml()) == "580.65.06"
    monkeypatch.setattr(FakeNvml, "nvmlSystemGetDriverVersion", lambda *a: 9)
    assert driver.version(FakeNvml()) == "unknown"
    monkeypatch.setattr(ctypes, "CDLL", lambda name: exec("raise OSError"))
    assert driver.version() == "unknown"


PROBE = "import sys; sys.exit('LinkerError: [222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION')"
CANNOT = "the Tesla T4 here cannot run a Numba kernel (" + PROBE[22:-2] + ")"


@pytest.mark.parametrize(
    ("gpus", "probe", "kind", "reason"),
    [
        ((), "", "cpu", "no NVIDIA GPU here"),
        ((T4,), "pass", "gpu", ""),
        ((T4,), PROBE, "cpu", CANNOT),
    ],
)
def test_a_gpu_is_used_if_its_probe_works(gpus, probe, kind, reason):
    decision = decide({}, gpus=gpus, probe=probe)
    assert (decision.kind, decision.gpus) == (kind, gpus)
    assert decision.name == "Tesla T4" if kind == "gpu" else decision.reason == reason


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A CUDA toolkit whose nvcc is on the path, and that no variable names."""
    (tmp_path / "nvvm").mkdir()
    (tmp_path / "bin").mkdir()
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(nvcc.parent), prepend=os.pathsep)
    monkeypatch.setenv("CUDA_HOME", "")
    monkeypatch.delenv("CUDA_PATH", raising=False)
    return str(tmp_path)


def test_a_toolkit_that_numba_does_not_find_by_itself_is_named_to_it(toolkit):
    probe = "import os, sys; sys.exit(None if os.environ.get('CUDA_HOME') else 'no NVVM')"
    assert decide({}, gpus=(T4,), probe=probe).kind == "gpu"
    assert os.environ["CUDA_HOME"] == toolkit


@pytest.mark.parametrize("probe", ["pass", "import sys; sys.exit('something else')"])
def test_a_toolkit_that_changes_nothing_is_not_named(toolkit, probe):
    decide({}, gpus=(T4,), probe=probe)
    assert not os.environ.get("CUDA_HOME")


def test_a_toolkit_is_a_folder_with_nvvm_that_nobody_has_named(toolkit, tmp_path, monkeypatch):
    assert numba_cuda.toolkit() == toolkit
    monkeypatch.setenv("CUDA_PATH", "/opt/cuda")
    assert numba_cuda.toolkit() is None  # somebody has
    monkeypatch.delenv("CUDA_PATH")
    (tmp_path / "nvvm").rmdir()
    assert numba_cuda.toolkit(str(tmp_path / "cuda")) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "cuda" / "nvvm").mkdir(parents=True)
    assert numba_cuda.toolkit(str(tmp_path / "cuda")) == str(tmp_path / "cuda")
    script = tmp_path / "bin"  # an nvcc that lies in no toolkit
    monkeypatch.setenv("PATH", str(script))
    assert numba_cuda.toolkit(str(tmp_path / "cuda")) == str(tmp_path / "cuda")


def test_probe_that_hangs_or_dies_is_a_sentence():
    assert run_probe("import time; time.sleep(60)", seconds=0.5) == (
        "a tiny kernel did not end within 0.5 s"
    )
    assert "code" in run_probe("import os; os._exit(7)")


def test_the_real_probe_fails_cleanly_where_there_is_no_gpu():
    if driver.gpus():
        assert run_probe() is None
    else:
        assert "\n" not in run_probe()


def test_gpu_that_is_not_there_cannot_be_forced():
    with pytest.raises(DeviceError, match="GPULEARN_DEVICE=gpu, but no NVIDIA GPU here; set it to"):
        decide({"GPULEARN_DEVICE": "gpu"}, gpus=())


@pytest.mark.parametrize("word", ["tpu", "", "GPU", "0"])
def test_other_words_are_refused(word):
    with pytest.raises(DeviceError, match="is not a device: set it to cpu, gpu or auto"):
        decide({"GPULEARN_DEVICE": word}, gpus=(T4,))


def test_deciding_imports_neither_torch_nor_numba():
    code = (
        "import sys; from simt.device import selection; selection.current(); "
        "print([m for m in ('torch', 'numba') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("11th Gen Intel(R) Core(TM) i7-1185G7 @ 3.00GHz", "Intel Core i7-1185G7"),
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "Intel Xeon Platinum 8259CL"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "Intel Xeon"),
        ("AMD Ryzen 7 PRO 7840U w/ Radeon 780M Graphics", "AMD Ryzen 7 PRO 7840U"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Apple M2 Pro", "Apple M2 Pro"),
        ("", ""),
    ],
)
def test_a_cpus_name_is_short_enough_for_a_legend(given, shown):
    assert selection._plain_name(given) == shown


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_cpu_name_elsewhere(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(
        subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, "Apple M9\n", "")
    )
    monkeypatch.setattr("platform.processor", lambda: "Intel64")
    assert selection.cpu_name.__wrapped__() == {"darwin": "Apple M9", "win32": "Intel64"}[platform]


def test_a_probe_finds_the_package_that_this_process_uses(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert selection.run_probe("import sys, simt; sys.exit(simt.__file__)") == str(simt.__file__)

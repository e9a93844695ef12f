"""What `make` does before anything is installed, with every machine forced."""

import re
import subprocess
import sys

import pytest

from simt.device.driver import Gpu
from tools import install


class FakeRun:
    """Notes commands instead of running them; those that match `fails` fail."""

    def __init__(self, fails="^$"):
        self.commands, self.fails = [], fails

    def __call__(self, command, quiet=False):
        line = " ".join(command)
        self.commands.append(line)
        return not re.search(self.fails, line)


PIN = install.torch_pin()


def commands(cuda=None, platform="linux", fails="^$"):
    """What an installation runs."""
    run = FakeRun(fails)
    install.install("py", "lab", cuda, platform, run)
    return run.commands


def test_cpu_build_where_there_is_no_gpu():
    first, second = commands()
    assert f"{PIN}+cpu" in first
    assert "--editable" in second
    assert second.endswith("[lab]")
    assert "constraints.txt" in second


def test_cpu_build_from_where_pytorch_keeps_it():
    _, uv, torch, project = commands(fails=r"\+cpu")
    assert uv.endswith(" uv")
    assert torch.endswith(f"--torch-backend cpu {PIN}")
    assert "--editable" in project


@pytest.mark.parametrize(
    ("cuda", "fails", "said"),
    [
        (None, r"\+cpu| uv$", "No CPU build of torch is within reach"),
        ((13, 0), "torch-backend", "out of reach"),  # then the default build
    ],
)
def test_no_build_within_reach_is_said_and_goes_on(cuda, fails, said, capsys):
    assert "--editable" in commands(cuda, fails=fails)[-1]
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_without_a_gpu_the_default_build_is_for_the_cpu(platform):
    (project,) = commands(platform=platform)
    assert "--editable" in project


@pytest.mark.parametrize("platform", ["linux", "win32"])
@pytest.mark.parametrize(("cuda", "extra"), [((13, 0), "gpu"), ((12, 4), "gpu-cu12")])
def test_a_gpu_gets_what_its_driver_can_run(platform, cuda, extra):
    _, torch, *_, project = commands(cuda, platform)
    assert torch.endswith(f"--torch-backend auto {PIN}")
    assert project.endswith(f"[lab,{extra}]")


def test_a_server_that_does_not_answer_costs_seconds(monkeypatch):
    run = FakeRun()
    install.torch_from_pip("py", run)
    install.torch_from_uv("py", "cpu", run)
    assert all("--timeout 10 --retries 1" in c for c in run.commands if c.startswith("py -m pip"))
    seen = {}
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda command, **options: seen.update(options) or subprocess.CompletedProcess(command, 0),
    )
    assert install.run_command(["true"])
    assert seen["env"]["UV_HTTP_TIMEOUT"] == "10"
    assert seen["env"]["UV_HTTP_RETRIES"] == "1"


def test_what_is_only_tried_prints_nothing(capfd):
    assert not install.run_command(
        [sys.executable, "-c", "print('red'); raise SystemExit(1)"], quiet=True
    )
    assert install.run_command([sys.executable, "-c", "print('seen')"])
    assert capfd.readouterr().out == "seen\n"


def test_a_failed_install_ends_with_one_sentence():
    with pytest.raises(SystemExit, match="pip could not install gpulearn"):
        commands(fails="--editable")


@pytest.mark.parametrize(
    ("version", "has_venv", "platform", "said"),
    [
        ((3, 10), True, "linux", "This is Python 3.10, and gpulearn needs 3.11 to 3.14"),
        ((3, 15), True, "linux", "run make with PYTHON=python3.14"),
        ((3, 12), False, "linux", "sudo apt-get install python3.12-venv"),
        ((3, 12), False, "darwin", "cannot make virtual environments: install the venv module."),
    ],
)
def test_a_python_that_will_not_do(version, has_venv, platform, said):
    assert said in install.fault_of_python(version, has_venv, platform)


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_a_python_that_will_do(version):
    assert install.fault_of_python(version, True, "linux") is None


def test_main_says_what_is_wrong_and_does_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "version_info", (3, 9, 0))
    with pytest.raises(SystemExit, match=r"This is Python 3\.9"):
        install.main()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("platform", "path"), [("linux", "bin/python"), ("win32", "Scripts/python.exe")]
)
def test_main_makes_the_environment(monkeypatch, tmp_path, platform, path):
    run = FakeRun()
    installed = []
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(install, "run_command", run)
    monkeypatch.setattr(install, "install", lambda *a: installed.append(a))
    monkeypatch.setattr("simt.device.driver.gpus", lambda: ())
    install.main()
    assert run.commands == [f"{sys.executable} -m venv {tmp_path / '.venv'}"]
    assert installed[0][0] == str(tmp_path / ".venv" / path)
    assert installed[0][1:4] == ("lab,test", None, platform)


def test_main_reads_the_drivers_version(monkeypatch, tmp_path):
    installed = []
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "run_command", FakeRun())
    monkeypatch.setattr(install, "install", lambda *a: installed.append(a))
    h200 = Gpu("NVIDIA H200", 2**37, (9, 0), "13.1")
    monkeypatch.setattr("simt.device.driver.gpus", lambda: (h200,))
    install.main()
    assert installed[0][2] == (13, 1)


def test_it_runs_on_the_standard_library_alone():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'numba', 'torch'])); "
        "import tools.install, simt.device.selection"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

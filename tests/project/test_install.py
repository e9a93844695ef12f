"""What `make` does before anything is installed, with every machine forced."""

import re
import subprocess
import sys

import pytest

from gpulearn import install


class FakeRun:
    """Notes commands instead of running them; those that match `fails` fail."""

    def __init__(self, fails="^$"):
        self.commands, self.fails = [], fails

    def __call__(self, command):
        line = " ".join(command)
        self.commands.append(line)
        return not re.search(self.fails, line)


PIN = install.torch_pin()


def test_cpu_build_where_there_is_no_gpu():
    run = FakeRun()
    install.install("py", "lab,test", has_gpu=False, platform="linux", run=run)
    assert f"{PIN}+cpu" in run.commands[0]
    assert "--editable" in run.commands[1]
    assert "[lab,test]" in run.commands[1]
    assert "constraints.txt" in run.commands[1]
    assert len(run.commands) == 2


def test_cpu_build_from_where_pytorch_keeps_it():
    run = FakeRun(fails=r"\+cpu")
    install.install("py", "lab", has_gpu=False, platform="linux", run=run)
    assert run.commands[1].endswith(" uv")
    assert f"--torch-backend cpu {PIN}" in run.commands[2]
    assert "--editable" in run.commands[3]


def test_no_cpu_build_within_reach_is_said_and_goes_on(capsys):
    run = FakeRun(fails=r"\+cpu| uv$")
    install.install("py", "lab", has_gpu=False, platform="linux", run=run)
    assert "No CPU build of torch is within reach" in capsys.readouterr().out
    assert "--editable" in run.commands[-1]


@pytest.mark.parametrize(
    ("platform", "has_gpu"), [("linux", True), ("darwin", False), ("win32", False), ("win32", True)]
)
def test_elsewhere_the_default_build_is_the_right_one(platform, has_gpu):
    run = FakeRun()
    install.install("py", "lab", has_gpu, platform, run)
    assert len(run.commands) == 1
    assert "--editable" in run.commands[0]


def test_a_server_that_does_not_answer_costs_seconds():
    run = FakeRun()
    install.cpu_torch("py", run)
    assert "--timeout 10 --retries 1" in run.commands[0]


def test_a_failed_install_ends_with_one_sentence():
    with pytest.raises(SystemExit, match="pip could not install gpulearn"):
        install.install("py", "lab", True, "linux", FakeRun(fails="--editable"))


@pytest.mark.parametrize(
    ("version", "has_venv", "platform", "said"),
    [
        ((3, 10), True, "linux", "This is Python 3.10, and gpulearn needs 3.11 to 3.13"),
        ((3, 14), True, "linux", "run make with PYTHON=python3.13"),
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
    monkeypatch.setattr("gpulearn.device.driver_gpus", lambda: ())
    install.main()
    assert run.commands == [f"{sys.executable} -m venv {tmp_path / '.venv'}"]
    assert installed[0][0] == str(tmp_path / ".venv" / path)
    assert installed[0][1] == "lab,test"


def test_it_runs_on_the_standard_library_alone():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'numba', 'torch'])); "
        "import gpulearn.install, gpulearn.device"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""`make matrix`: which Pythons it finds, what it installs, and that a failure is not lost."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tools import install, matrix
from tools.matrix import Outcome

ROOT = Path(__file__).parents[3]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PASSED = Outcome("3.12.1", "2.4.6", "0.68.1", passed=10, skipped=2, seconds=61.4)


def test_the_supported_pythons_are_stated_once_more_and_the_same():
    (first, last) = install.VERSIONS
    wanted = f">={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"
    assert tomllib.loads(PROJECT)["project"]["requires-python"] == wanted


def test_the_workflow_tests_on_every_supported_python():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    *_, setup, run = job["pythons"]["steps"]
    (first, last) = install.VERSIONS
    supported = [f"{first[0]}.{minor}" for minor in range(first[1], last[1] + 1)]
    assert setup["with"]["python-version"].split() == supported
    named = " ".join(f"python{version}" for version in supported)
    assert run["run"] == f'make matrix ARGS="{named}"'


def test_the_python_that_runs_this_is_among_those_found(capsys):
    assert sys.executable in matrix.found_pythons()
    for line in capsys.readouterr().out.splitlines():
        assert line.endswith("is not here, and is left out.")


def test_what_is_no_python_is_none():
    assert matrix.version_of("/no/such/python") is None
    assert matrix.version_of("/bin/false") is None


def test_a_python_that_is_named_and_not_there_fails(capsys, tmp_path):
    assert matrix.main(["/no/such/python3.12", "--into", str(tmp_path)]) == 1
    assert "/no/such/python3.12" in capsys.readouterr().out


def test_the_oldest_allowed_are_the_lower_bounds():
    pins = matrix.oldest_allowed(PROJECT)
    assert [pin.partition("==")[0] for pin in pins] == ["numpy", "numba"]
    dependencies = tomllib.loads(PROJECT)["project"]["dependencies"]
    assert [pin.replace("==", ">=") for pin in pins] == [one.split(";")[0] for one in dependencies]


def test_a_dependency_without_a_lower_bound_is_told():
    with pytest.raises(SystemExit, match="'numpy' in pyproject.toml states no lower bound"):
        matrix.oldest_allowed('[project]\ndependencies = ["numpy"]')


def test_every_place_that_it_copies_or_leaves_out_is_there():
    for name in (*matrix.COPIED, *matrix.TESTS, *matrix.LEFT_OUT):
        assert (ROOT / "tests" / name).exists(), name


@pytest.mark.parametrize(
    ("outcome", "ok", "said"),
    [
        (PASSED, True, "passed"),
        (Outcome("3.12.1", passed=10, failed=1), False, "failed"),
        (Outcome("3.12.1"), False, "failed"),
        (Outcome("3.12.1", passed=3, fault="pytest ended with 2"), False, "pytest ended with 2"),
    ],
)
def test_a_row_says_whether_all_is_well(outcome, ok, said):
    assert outcome.ok == ok
    assert outcome.row[-1] == said


def test_the_table_has_a_row_for_each_python():
    lines = str(matrix.report([PASSED, Outcome("3.13.0", fault="pip could not …")])).splitlines()
    assert lines[2].split() == ["3.12.1", "2.4.6", "0.68.1", "10", "0", "2", "61", "passed"]
    assert lines[3].endswith("pip could not …")


@pytest.fixture
def faked(monkeypatch, tmp_path):
    """No environment is made: the tests of a small folder run in this one."""
    tests = tmp_path / "checkout" / "tests"
    (tests / "device").mkdir(parents=True)
    monkeypatch.setattr(matrix, "ROOT", tests.parent)
    monkeypatch.setattr(matrix, "COPIED", ("device",))
    monkeypatch.setattr(matrix, "TESTS", ("device",))
    monkeypatch.setattr(matrix, "LEFT_OUT", ())
    monkeypatch.setattr(matrix, "OPTIONS", ("-q",))
    monkeypatch.setattr(matrix, "python_of", lambda folder: sys.executable)
    commands, real = [], subprocess.run

    def run(command, **how):
        commands.append(command)
        if "venv" in command or "pip" in command:
            command = [sys.executable, "-c", "pass"]
        return real(command, **how)

    monkeypatch.setattr(subprocess, "run", run)
    return tests / "device" / "test_small.py", commands


def test_counts_are_those_of_the_tests(faked, tmp_path):
    small, commands = faked
    small.write_text(
        "import pytest\n"
        "def test_one(): pass\n"
        "def test_two(): assert False\n"
        "def test_three(): pytest.skip('so')\n"
    )
    found = matrix.outcome_of(sys.executable, tmp_path / "at", ["numpy==2.0"])
    assert (found.passed, found.failed, found.skipped, found.ok) == (1, 1, 1, False)
    assert any("numpy==2.0" in command and str(matrix.ROOT) in command for command in commands)


def test_tests_that_cannot_be_collected_are_a_failure(faked, tmp_path):
    faked[0].write_text("import no_such_module\n")
    assert not matrix.outcome_of(sys.executable, tmp_path / "at").ok


def test_no_tests_at_all_are_a_failure(faked, tmp_path):
    found = matrix.outcome_of(sys.executable, tmp_path / "at")
    assert found.fault == "pytest ended with 5"


def test_the_tests_see_what_was_installed_only(faked, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    faked[0].write_text("import os\ndef test_clean(): assert 'PYTHONPATH' not in os.environ\n")
    assert matrix.outcome_of(sys.executable, tmp_path / "at").ok


def test_it_runs_on_the_standard_library_alone():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['numpy', 'numba', 'torch'])); "
        "import tools.matrix as m; print(m.report([m.Outcome('3.12.1')]))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

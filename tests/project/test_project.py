"""The files around the package agree with pyproject.toml, which is the only list."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from hatchling.builders.sdist import SdistBuilder
from packaging.requirements import Requirement

from gpulearn import __version__
from tools import links

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"pytorch": "torch"}


def test_version_is_stated_once_more_and_the_same():
    assert PROJECT["version"] == __version__


def test_the_sdist_has_what_its_texts_link_to():
    files = {one.distribution_path for one in SdistBuilder(str(ROOT)).recurse_included_files()}
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        text = path.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([\w./-]+\.(?:ipynb|md|png|py))\b", text):
            assert (path.parent / link).resolve().relative_to(ROOT).as_posix() in files


def test_environment_yml_is_python_pip_and_the_project():
    found = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    *conda, pip = found
    assert pip == {"pip": ["-e .[lab]"]}
    assert conda[:2] == ["python>=3.11,<3.14", "pip"]  # those that README says have been tried
    assert "Python 3.11 to 3.13" in (ROOT / "README.md").read_text(encoding="utf-8")
    extras = PROJECT["optional-dependencies"]
    for spec in conda[2:]:
        name = re.match(r"[\w-]+", spec).group()
        assert spec.replace(name, CONDA_NAMES[name], 1) in extras["torch"]


def test_constraint_satisfies_the_lower_bound():
    pinned = re.search(r"torch==(\d+)\.(\d+)", (ROOT / "constraints.txt").read_text())
    bound = re.search(r"torch>=(\d+)\.(\d+)", PROJECT["optional-dependencies"]["torch"][0])
    assert tuple(map(int, pinned.groups())) >= tuple(map(int, bound.groups()))


def test_the_readmes_first_program_says_what_is_printed_below_it(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program, told = re.search(r"```python\n(.*?)```\n\n```\n(.*?)\n```", readme, re.DOTALL).groups()
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPULEARN_DEVICE": "cpu"}
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert told in done.stdout


def test_every_badge_and_set_up_cell_shows_the_one_address():
    address = links.repository()
    for path in links.files():
        assert links.rewritten(path, address) == path.read_text(encoding="utf-8")


def test_links_carry_a_new_address(tmp_path):
    for name in ("pyproject.toml", "README.md", *_shown()):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(
        pyproject.read_text().replace(PROJECT["urls"]["Repository"], "https://github.com/u/course")
    )
    links.main(tmp_path)
    for name in _shown():
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert re.search(
            rf"github/u/course/blob/main/{name}|git\+https://github.com/u/course", text
        )
        assert PROJECT["urls"]["Repository"].removeprefix("https://") not in text
    readme = (tmp_path / "README.md").read_text()
    assert "git clone https://github.com/u/course && cd course" in readme
    assert "github/u/course/blob/main/notebooks/01_" in readme


def _shown():
    return [path.relative_to(ROOT).as_posix() for path in links.files() if path.name != "README.md"]


def test_only_the_project_file_and_what_is_derived_show_the_address():
    address = links.repository().removeprefix("https://github.com/")
    kinds = {".py", ".md", ".toml", ".yml", ".txt", ".ipynb", ""}
    places = [
        *ROOT.glob("*"),
        *(
            p
            for d in ("gpulearn", "notebooks", "docs", "tests", ".ci")
            for p in (ROOT / d).rglob("*")
        ),
    ]
    holders = {
        str(path.relative_to(ROOT))
        for path in places
        if path.is_file() and path.suffix in kinds and address in path.read_text(encoding="utf-8")
    }
    assert holders == {"pyproject.toml", "README.md", *_shown()}


def make(*arguments, **how):
    """What make would carry out."""
    # a make that runs the tests makes another one say which folder it enters
    command = ["make", "-n", "--no-print-directory", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, **how)
    return done.stdout


def test_make_gpu_installs_nothing():
    lines = make("gpu", "GPU_PYTHON=python3.12", "ARGS=--list").splitlines()
    assert lines == ["python3.12 -m tools.record --list"]


def test_check_runs_everything():
    check = make("check")
    for tool in ("ruff format --check", "ruff check", "nb-clean check", "mypy", "pytest"):
        assert tool in check


def test_port_and_arguments_reach_jupyterlab():
    command = make("lab", "PORT=9123", "ARGS=--collaborative")
    assert "--port=9123" in command
    assert "--collaborative" in command


def test_without_a_display_no_browser_is_opened_and_root_may_open_the_lab():
    plain = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    assert "--no-browser" in make("lab", env=plain)
    assert "--no-browser" not in make("lab", env={**plain, "DISPLAY": ":0"})
    assert ("--allow-root" in make("lab")) == (os.getuid() == 0)


def test_the_set_up_cell_replaces_nothing_that_colab_holds():
    lines = (ROOT / "tools" / "colab.txt").read_text(encoding="utf-8").splitlines()
    held = dict(line.split("==") for line in lines if not line.startswith("#"))
    for bound in PROJECT["dependencies"]:
        wanted = Requirement(bound)
        assert held[wanted.name] in wanted.specifier, f"{bound} replaces {held[wanted.name]}"

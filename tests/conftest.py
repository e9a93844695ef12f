"""Fixtures that every test lives under."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simt.device.selection import cores
from tests.support.newcomer import left_out, mark_full

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # on a machine with a GPU, whose tests do without
    pass
else:
    # no test depends on how fast this machine is, or on what else it does
    quiet = [HealthCheck.too_slow]
    settings.register_profile("untimed", deadline=None, suppress_health_check=quiet)
    settings.load_profile("untimed")

# A script's shell has what it starts with & ignore Ctrl-C, and with that all that the tests start,
# whose interrupts would never come.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The schemas of notebooks ask for none of the addresses that this parses, and to build its
# parsers takes each worker longer than any other import: jsonschema does without.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def _files_of_progress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of files that no other test has: a folder for each test would take longer than most."""
    folder = tmp_path_factory.mktemp("progress")
    return (folder / f"{number}.json" for number in itertools.count())


@pytest.fixture(autouse=True)
def _apart(_files_of_progress: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds for every test, in one fixture: each costs as much as a small test.

    A test that solves an exercise must not touch the progress of whoever runs it. No verdict
    depends on how quick the computer is; a limit's own tests set theirs. What an exercise's known
    wrong answers do is tried once, not by each test that comes back.
    """
    monkeypatch.setenv("GPULEARN_PROGRESS", str(next(_files_of_progress)))
    if diagnosis := sys.modules.get("gpulearn.judge.diagnosis"):
        from tests.support.known import known_wrongs

        monkeypatch.setattr(diagnosis, "SECONDS", 300.0)
        monkeypatch.setattr(diagnosis, "_known_wrongs", known_wrongs)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Several torch threads on so little work wait for each other, long on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pytest_collection_finish() -> None:
    """What thousands of tests have imported stays: to look for garbage in it takes a tenth.

    A rank imports the module of the test whose function it runs, and with it what tests need.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)
    if ranks := sys.modules.get("gpulearn.parallel.launch.forkserver"):
        ranks.PRELOADED[:0] = ["pytest", "hypothesis"]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores, at most 4: browsers and ranks leave cores idle."""
    return min(4, cores() + 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What a newcomer's run leaves out it does not read either."""
    return (config.option.markexpr == "not full" and left_out(collection_path)) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`-m compiler` chooses the tests that need a CUDA compiler; the slowest go first.

    Whole notebooks take longest and must not begin last, when the other workers have nothing left
    to do. Before them the first worker has the browser's tests to itself, and no other starts a
    JupyterLab. Tests of one exercise follow each other, and share what its known answers do.
    """
    if "full" in config.option.markexpr:
        mark_full(items)
    for item in items:
        if {"_compiler", "_linker", "_nvrtc"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("compiler")
    slow = ("browser", "notebook")
    items.sort(key=lambda one: (*(not one.get_closest_marker(m) for m in slow), _exercise_of(one)))


def _exercise_of(item: pytest.Item) -> str:
    """The exercise whose answers a test tries, by its name; of any other test ""."""
    if "judge" not in item.path.parts and "lessons" not in item.path.parts:
        return ""
    given: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    name = getattr(given.get("exercise"), "name", given.get("name"))
    return name if isinstance(name, str) else ""


@pytest.fixture
def figures_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType], list[Any]]:
    """Give it a module of figures: a list of those that it makes, before they become bytes."""

    def collect(module: ModuleType) -> list[Any]:
        figures: list[Any] = []
        whole = module.show
        monkeypatch.setattr(module, "show", lambda fig, alt: figures.append(fig) or whole(fig, alt))
        return figures

    return collect


@pytest.fixture(scope="session")
def quick_python() -> str:
    """A program that does what Python does, sooner; Python itself where it cannot be copied."""
    from tests.support.ready import ready_python

    return ready_python()


@pytest.fixture
def _compiler() -> None:
    """Numba's CUDA compiler; a run that requires it fails without, a person's run skips."""
    from simt.numba_ptx.codegen import compiler_fault

    _needs(compiler_fault(), "GPULEARN_REQUIRE_PTX")


@pytest.fixture
def _linker() -> None:
    """Numba's CUDA compiler with nvJitLink; a run that requires it fails without, else it skips."""
    from simt.numba_ptx.codegen import linker_fault

    _needs(linker_fault(), "GPULEARN_REQUIRE_PTX")


@pytest.fixture
def _nvrtc() -> None:
    """NVIDIA's compiler of CUDA C++; a run that requires it fails without, a person's run skips."""
    from simt.cpp.compiler import compiler_fault

    _needs(compiler_fault(), "GPULEARN_REQUIRE_NVRTC")


@pytest.fixture
def _host_compiler(_nvrtc: None) -> None:
    """What whole CUDA programs need: nvcc, and g++ for their host part."""
    from simt.programs.cuda.nvcc import host_fault

    _needs(host_fault(), "GPULEARN_REQUIRE_NVRTC")


def _needs(fault: str | None, required: str) -> None:
    """Fail for what is not here where the environment requires it, else skip."""
    if fault is None:
        return
    if os.environ.get(required):
        pytest.fail(fault)
    pytest.skip(fault)

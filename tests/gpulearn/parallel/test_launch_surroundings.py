"""Ranks start wherever the notebook is: after other threads' work, in odd folders."""

import contextlib
import gc
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.parallel.launch.failures import MACHINERY
from gpulearn.parallel.launch.launch import launch


def script(code, **environment):
    """What a process of its own prints."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout


def test_ranks_work_after_openmp_prange_and_backward_and_do_all_three_themselves():
    said = script(
        """
        import numba, numpy as np, torch
        from gpulearn.parallel.launch.launch import launch

        @numba.njit(parallel=True)
        def total(values):
            out = 0.0
            for i in numba.prange(len(values)):
                out += values[i]
            return out

        def work():
            torch.set_num_threads(4)
            weight = torch.ones(256, 256, requires_grad=True)
            (weight @ weight).sum().backward()  # OpenMP, in the threads of autograd too
            return total(np.ones(10_000)), weight.grad.mean().item()

        if __name__ == "__main__":
            print(work(), launch(work, 2, timeout=20), work())
        """,
        NUMBA_NUM_THREADS="4",
    )
    one = (10000.0, 512.0)
    assert said.split("\n")[0] == f"{one} {[one, one]} {one}"


def test_temporary_files_may_lie_in_a_folder_with_a_long_name(tmp_path):
    folder = tmp_path / ("a" * 100) / ("b" * 100)
    folder.mkdir(parents=True)
    code = """
        import tempfile
        from gpulearn.parallel.launch.launch import launch
        if __name__ == "__main__":
            print(launch(tempfile.gettempdir, 2), tempfile.gettempdir())
    """
    # torch's compiler, which every optimizer loads, makes a folder for itself
    compiler = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "compiler")}
    assert script(code, TMPDIR=str(folder), **compiler) == f"{[str(folder)] * 2} {folder}\n"
    assert list(folder.iterdir()) == []


def test_a_server_has_an_address_too_in_a_folder_of_71_letters():
    code = """
        from gpulearn_lessons.parameter_server.server.kills import run_with_kills
        if __name__ == "__main__":
            print(run_with_kills(0, workers=1, pushes=3))
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = Path(short, "a" * (70 - len(short)))
        folder.mkdir()
        assert script(code, TMPDIR=str(folder)) == (
            "0 kills, 3 pushes acknowledged: 0 lost, 0 applied twice\n"
        )


def test_temporary_files_may_lie_in_a_folder_that_no_address_can_name(tmp_path, monkeypatch):
    folder = tmp_path / "a?b #c%20"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert launch(gl.parallel.rank, 2, timeout=20) == [0, 1]


def test_a_rank_may_load_its_data_with_workers(monkeypatch, tmp_path):
    class Numbers(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return torch.tensor(float(index))

    def load():
        return sum(some.sum().item() for some in DataLoader(Numbers(), 2, num_workers=2))

    launch(int, 1)  # the server stays, with its folder
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert launch(load, 2, timeout=20) == [6.0, 6.0]
    assert list(tmp_path.iterdir()) == []


def test_ranks_begin_with_what_they_import_and_look_for_no_garbage_in_it():
    def begun():
        return "torch._dynamo" in sys.modules, gc.get_freeze_count() > 100_000, gc.isenabled()

    assert launch(begun, 1) == [(True, True, True)]


def test_threads_that_launch_at_once_leave_the_main_module_where_it_was():
    main, found = sys.modules["__main__"], []
    threads = [
        threading.Thread(target=lambda n=n: found.append((n, launch(pow, 2, n, 2, timeout=20))))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(n, [n**2] * 2) for n in range(6)]
    assert sys.modules["__main__"] is main


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_where_nothing_can_be_printed_ranks_still_work(backend, monkeypatch):
    def show():
        print("π")
        return 1

    with contextlib.redirect_stdout(None):
        assert launch(show, 2, backend=backend, timeout=20) == [1, 1]
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert launch(show, 2, backend=backend, timeout=20) == [1, 1]
    assert sorted(shown.getvalue().splitlines()) == [rb"[rank 0] \u03c0", rb"[rank 1] \u03c0"]


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_a_stack_shows_every_file_of_the_reader_and_none_of_ours(backend):
    code = compile("def step(): return 1 / 0", "/home/reader/my_rank.py", "exec")
    exec(code, notebook := {"__name__": "__main__"})
    with pytest.raises(RankError, match=r"(?m)^  my_rank.py, line 1, in step"):
        launch(notebook["step"], 1, backend=backend, timeout=20)
    with pytest.raises(RankError, match="cannot travel back") as caught:
        launch(lambda: (n for n in range(3)), 1, backend=backend, timeout=20)
    assert "\n" not in str(caught.value)


def test_what_a_stack_leaves_out_is_there():
    assert [file for file in MACHINERY if not Path(file).is_file()] == []


@pytest.mark.parametrize("free", [24, 27, 31, 34, 37])
def test_too_few_open_files_are_told_and_the_next_launch_works(free):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    server = launch(os.getppid, 1, timeout=20)
    lowest = os.dup(0)  # all below it are taken
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + free, hard))
    try:
        with pytest.raises(RankError, match="^16 ranks need more open files"):
            launch(gl.parallel.rank, 16, timeout=20)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert launch(gl.parallel.rank, 2, timeout=20) == [0, 1]
    assert launch(os.getppid, 1, timeout=20) == server  # it was not left to end


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_copy_that_a_rank_makes_of_itself_does_not_answer_for_it():
    def forks():
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return "rank" if child else "copy"

    assert launch(forks, 1, timeout=20) == ["rank"]


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_a_message_with_half_a_character_can_be_printed(backend):
    def fails():
        raise ValueError("half: \ud83d")

    with pytest.raises(RankError, match=r"ValueError: half: \\ud83d") as caught:
        launch(fails, 1, backend=backend, timeout=20)
    assert str(caught.value).encode()


@pytest.fixture
def short_folder():
    """Where a server's socket can lie: pytest's own folders have names too long for it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def test_an_interrupt_spares_the_server_and_a_killed_launcher_leaves_nothing(short_folder):
    """As Jupyter interrupts: the whole process group, while the server loads torch."""
    code = """
        import os, time
        from gpulearn.parallel.launch.launch import launch
        if __name__ == "__main__":
            print("begun", flush=True)
            for _ in range(2):
                try:
                    print(len(launch(os.getpid, 2)), flush=True)
                except KeyboardInterrupt as error:
                    print(error, flush=True)
            time.sleep(100)
    """
    environment = {
        "TMPDIR": str(short_folder),
        "TORCHINDUCTOR_CACHE_DIR": str(short_folder / "compiler"),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.7)
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "you ended it: none of the 2 ranks is left.\n"
    assert process.stdout.readline() == "2\n"
    assert [one for one in short_folder.iterdir() if one.name.startswith("gpulearn-")]
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 20
    while left := [one.name for one in short_folder.iterdir() if one.name != "compiler"]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


def drawn():
    return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002


def test_random_numbers_are_those_of_fresh_processes():
    each = [*launch(drawn, 2), *launch(drawn, 2)]
    for numbers in zip(*each, strict=True):
        assert len(set(numbers)) == 4

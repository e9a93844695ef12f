"""Ranks start wherever the notebook is: after other threads' work, in odd folders, by spawn."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import textwrap

import pytest
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

import gpulearn as gl
from gpulearn.parallel.launch import launch


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
        from gpulearn.parallel.launch import launch

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
        from gpulearn.parallel.launch import launch
        if __name__ == "__main__":
            print(launch(tempfile.gettempdir, 2), tempfile.gettempdir())
    """
    assert script(code, TMPDIR=str(folder)) == f"{[str(folder)] * 2} {folder}\n"
    assert list(folder.iterdir()) == []


def test_without_a_server_ranks_are_spawned(monkeypatch, capfd):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    launched = []
    spawn = multiprocessing.get_context("spawn").Process
    monkeypatch.setattr(
        spawn, "start", lambda self: launched.append(self) or super(spawn, self).start()
    )

    def speaks():
        print("here")
        mine = torch.ones(1)
        dist.all_reduce(mine)
        if dist.get_rank() == 1:
            raise ValueError("no such digit")
        dist.barrier()

    with pytest.raises(gl.RankError, match="rank 1 of 2 raised ValueError: no such digit"):
        launch(speaks, 2, timeout=20)
    assert len(launched) == 2
    assert sorted(capfd.readouterr().out.splitlines()) == ["[rank 0] here", "[rank 1] here"]


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

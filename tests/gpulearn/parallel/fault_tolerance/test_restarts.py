"""Groups that are started again: how often, what is said, and a run that goes on to the bit."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from gpulearn.errors import BadInput, RankError
from gpulearn.parallel.launch.launch import launch
from gpulearn_lessons.fault_tolerance.elastic import ElasticRun, resume_elastic


def attempt():
    return int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def dies(deaths):
    if deaths.get(attempt()) == dist.get_rank():
        os.kill(os.getpid(), signal.SIGKILL)
    total = torch.ones(1)
    dist.all_reduce(total)
    return total.item(), attempt(), os.environ["TORCHELASTIC_MAX_RESTARTS"]


def raises(until):
    if attempt() < until and dist.get_rank() == 1:
        raise ValueError("no such file")
    dist.barrier()
    return attempt()


def test_a_group_is_started_again_as_often_as_it_may(capsys):
    got = launch(dies, 2, {0: 1, 1: 0}, restarts=2, backend="gloo")
    assert got == [(2.0, 2, "2")] * 2
    assert isinstance(got, list)
    assert got.restarts == 2
    assert capsys.readouterr().out.splitlines() == [
        "rank 1 of 2 was killed by SIGKILL. Restarting all ranks: restart 1 of 2.",
        "rank 0 of 2 was killed by SIGKILL. Restarting all ranks: restart 2 of 2.",
    ]
    with pytest.raises(RankError, match="rank 0 of 2 was killed"):
        launch(dies, 2, {0: 1, 1: 0}, restarts=1, backend="gloo")


def test_an_exception_is_a_death_as_well(capsys):
    assert launch(raises, 2, 1, restarts=3, backend="gloo") == [1, 1]
    assert capsys.readouterr().out == (
        "rank 1 of 2 raised ValueError: no such file. Restarting all ranks: restart 1 of 3.\n"
    )
    undisturbed = launch(raises, 2, 0, backend="gloo")
    assert (undisturbed, undisturbed.restarts) == ([0, 0], 0)


def test_restarts_are_a_whole_number_and_of_real_ranks():
    with pytest.raises(BadInput, match="restarts is -1"):
        launch(dies, 2, {}, restarts=-1)
    with pytest.raises(BadInput, match="simulated ranks are not started again"):
        launch(dies, 2, {}, restarts=1, backend="simulated")
    assert launch(int, 2, backend="simulated").restarts == 0


def resume(path, steps, moments=()):
    """Train; be killed at any moment from outside."""
    if attempt() < len(moments) and moments[attempt()][0] == dist.get_rank():
        kill = threading.Timer(moments[attempt()][1], os.kill, (os.getpid(), signal.SIGKILL))
        kill.daemon = True
        kill.start()
    return resume_elastic(ElasticRun(path), steps)


def test_kills_at_any_moment_change_no_bit(tmp_path):
    calm = launch(resume, 2, str(tmp_path / "calm"), 60, backend="gloo")
    draw = random.Random(5)
    moments = [(draw.randrange(2), draw.uniform(0, 0.03)) for _ in range(3)]
    path = str(tmp_path / "run")
    got = launch(resume, 2, path, 60, moments, restarts=3, backend="gloo")
    assert got == calm
    assert got.restarts > 0  # a run of 60 steps takes longer than the first of them leaves it


SCRIPT = """
import sys
from gpulearn_lessons.fault_tolerance.elastic import ElasticRun, resume_elastic
from gpulearn.parallel.process_group import init_process_group

with init_process_group() as here:
    losses = resume_elastic(ElasticRun(sys.argv[1], [(1, 2)]), 4)
    if here.rank == 0:
        print("losses", losses)
"""


def test_torchrun_starts_the_same_function_again(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    # itself, with Pythons of its own: the other tests' are copies of one that is ready
    torchrun = Path(sys.executable).with_name("torchrun")
    command = [torchrun, "--standalone", "--max-restarts", "1"]
    environment = os.environ | {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [*command, "--nproc-per-node", "2", str(script), str(tmp_path / "run.pt")],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    calm = launch(resume, 2, str(tmp_path / "calm"), 4, backend="gloo")
    assert f"losses {calm[0]}" in ran.stdout, ran.stderr

"""Ranks are real processes: what they return comes back, and whatever they do, they end."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.parallel.launch.launch import launch
from tests.support.left import nothing_left
from tests.support.processes import gone


@pytest.fixture(autouse=True)
def clean(tmp_path):
    with nothing_left(tmp_path):
        yield


def test_arguments_closures_and_classes_travel():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

    scale = Scale(3)

    def scaled(values, more):
        return scale.factor * values + more + dist.get_rank()

    got = launch(scaled, 2, np.arange(3), 1)
    assert [one.tolist() for one in got] == [[1, 4, 7], [2, 5, 8]]


def test_the_environment_is_that_of_torchrun(monkeypatch):
    monkeypatch.setenv("MY_SETTING", "7")
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MY_SETTING")
    got = launch(lambda: ([os.environ[name] for name in names], torch.get_num_threads()), 2)
    threads = max(1, len(os.sched_getaffinity(0)) // 2)
    assert got == [(["0", "0", "2", "2", "7"], threads), (["1", "1", "2", "2", "7"], threads)]


def test_a_rank_ends_before_the_others_have_begun():
    def uneven():
        if dist.get_rank() == 0:
            time.sleep(0.5)
        return dist.get_rank()

    assert launch(uneven, 2, timeout=20) == [0, 1]


def test_prints_come_whole_with_the_rank(capfd):
    def talk():
        for n in range(200):  # a bar, which is shown when it ends
            sys.stderr.write(f"\r{n + 1} of 200")
        sys.stderr.write("\n")
        rank = dist.get_rank()
        print("hello", rank)
        os.write(1, b"half ")
        time.sleep(0.05)
        os.write(1, "a line ü\n".encode())
        print("to stderr", file=sys.stderr)
        print("no end", end="")

    launch(talk, 2)
    out, err = capfd.readouterr()
    for rank in (0, 1):
        mine = [line for line in out.splitlines() if line.startswith(f"[rank {rank}] ")]
        assert mine == [f"[rank {rank}] {s}" for s in (f"hello {rank}", "half a line ü", "no end")]
        mine = [line for line in err.splitlines() if line.startswith(f"[rank {rank}] ")]
        assert mine == [f"[rank {rank}] {s}" for s in ("200 of 200", "to stderr")]


def test_a_megabyte_printed_and_100_megabytes_returned(capfd):
    def much():
        print("x" * 1_000_000)
        return b"y" * 100_000_000

    assert [len(one) for one in launch(much, 2)] == [100_000_000] * 2
    out, _ = capfd.readouterr()
    assert [len(line) for line in out.splitlines()] == [1_000_009] * 2


def test_the_first_rank_to_fail_is_named_with_its_line():
    def fails():
        if dist.get_rank() == 1:
            raise ValueError("no such digit: 12")
        dist.barrier()

    with pytest.raises(RankError, match="rank 1 of 4 raised ValueError: no such digit") as e:
        launch(fails, 4)
    assert 'in fails: raise ValueError("no such digit: 12")' in str(e.value)
    assert str(e.value).count("then waited for it in test_launch.py, line") == 3
    assert e.value.rank == 1
    assert len(str(e.value).splitlines()) == 5


def test_a_rank_that_is_killed_is_named():
    def dies():
        for n in range(20):
            if n == 7 and dist.get_rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            dist.barrier()

    with pytest.raises(RankError, match="^rank 1 of 2 was killed by SIGKILL"):
        launch(dies, 2)


@pytest.mark.parametrize(
    ("leave", "said"),
    [
        (lambda: sys.exit(3), "raised SystemExit: 3"),
        (lambda: os._exit(5), "ended with exit code 5 before its function returned"),
    ],
)
def test_a_rank_that_leaves(leave, said):
    def leaves():
        if dist.get_rank() == 0:
            leave()
        dist.barrier()

    with pytest.raises(RankError, match=f"rank 0 of 2 {said}"):
        launch(leaves, 2)


@pytest.mark.parametrize(("count", "waits"), [(2, True), (4, False)])
def test_a_rank_that_never_comes_is_told_with_its_line(count, waits):
    def sleeps():
        if dist.get_rank() == 0:
            time.sleep(1000)
        if waits:
            dist.barrier()

    with pytest.raises(RankError, match=f"rank 0 of {count} did not finish in time") as e:
        launch(sleeps, count, timeout=1)
    assert "in sleeps: time.sleep(1000)" in str(e.value)


def test_interrupt_ends_all_ranks_at_once():
    def interrupts(launcher):
        if dist.get_rank() == 0:  # both are in the function once this one is
            os.kill(launcher, signal.SIGINT)
        time.sleep(1000)

    with pytest.raises(KeyboardInterrupt, match="you ended it: none of the 2 ranks is left"):
        launch(interrupts, 2, os.getpid())
    assert launch(int, 2) == [0, 0]


def test_processes_that_a_rank_has_started_end_with_it():
    def starts():
        raise ValueError(subprocess.Popen(["sleep", "1000"]).pid)

    with pytest.raises(RankError, match="raised ValueError: ") as e:
        launch(starts, 1)
    pid = int(str(e.value).partition("ValueError: ")[2].split()[0])
    assert gone(pid)


def test_ranks_end_when_the_launcher_is_killed(tmp_path):
    code = (
        "import os, time\n"
        "from gpulearn.parallel.launch.launch import launch\n"
        "def f(folder):\n"
        "    open(f'{folder}/{os.getpid()}', 'w').close(); time.sleep(1000)\n"
        "if __name__ == '__main__': launch(f, 2, os.environ['FOLDER'])\n"
    )
    folder = tmp_path / "pids"
    folder.mkdir()
    env = {**os.environ, "FOLDER": str(folder)}
    parent = subprocess.Popen([sys.executable, "-c", code], env=env)
    while len(pids := [int(path.name) for path in folder.iterdir()]) < 2:
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    assert gone(*pids)
    shutil.rmtree(folder)


def test_bad_input_is_told_before_anything_starts():
    refused = [
        (functools.partial(launch, int, n), "nprocs is .*whole") for n in (0, 2.5, "2", True)
    ]
    refused += [
        (lambda: launch(4, 2), "fn is 4: give the function itself, without brackets"),
        (lambda: launch(int, 2, timeout=0), "timeout is 0: give a number above zero"),
        (lambda: launch(int, 2, backend="glo"), "There is no backend 'glo': did you mean 'gloo'"),
        (lambda: launch(int, 2, backend="nccl"), "nprocs is 2, and there are 0 GPUs: NCCL wants"),
    ]
    for call, said in refused:
        with pytest.raises(gl.errors.BadInput, match=said):
            call()


def failure(fn, count, **options):
    with pytest.raises(RankError) as e:
        launch(fn, count, timeout=2, **options)
    assert "GLHF" not in str(e.value)
    assert ".cc:" not in str(e.value)
    return str(e.value)


def test_a_rank_that_ends_without_its_collective_is_named():
    def skips():
        if dist.get_rank() != 1:
            dist.all_reduce(torch.ones(4))

    said = failure(skips, 4)
    assert "of 4 waited, but rank 1 had ended. Every rank must take part." in said
    assert "in skips: dist.all_reduce(torch.ones(4))" in said


def test_two_sends_that_face_each_other_time_out_in_plain_words():
    def faces():
        dist.send(torch.ones(1), 1 - dist.get_rank())

    said = failure(faces, 2)
    assert "raised RuntimeError: Timed out waiting 2000ms for send operation" in said


def test_other_collectives_are_told_in_two_lines_and_an_echo():
    def mixes():
        one = torch.ones(2)
        dist.all_reduce(one) if dist.get_rank() else dist.broadcast(one, 0)

    said = failure(mixes, 2, debug=True)
    assert "calls broadcast with [2] of Float" in said
    assert "calls allreduce with [2] of Float" in said
    assert "CollectiveFingerPrint" not in said
    assert len(said.splitlines()) == 3
    assert "then found the same in test_launch.py, line" in said


@pytest.mark.parametrize("sleeps", [True, False])
def test_with_debug_a_rank_that_does_not_come_is_the_one_that_is_named(sleeps, capfd):
    def absent():
        if dist.get_rank() == 1:
            time.sleep(1000 * sleeps)
        else:
            dist.all_reduce(torch.ones(2))

    said = failure(absent, 3, debug=True)
    if sleeps:
        assert said.startswith("rank 1 of 3 did not finish in time and was stopped.")
        assert "rank 0 then waited in test_launch.py, line" in said
        assert "rank 1 did not reach this collective within 2 s." in said
    else:
        assert "of 3 waited, but rank 1 had ended. Every rank must take part." in said
    assert capfd.readouterr().err == ""  # torch's own log says no more


lock = threading.Lock()


class Holder:
    def __init__(self):
        self.kept = {"locks": [3, threading.Lock()]}


@pytest.mark.parametrize(
    ("fn", "args", "said"),
    [
        (len, ([1, (n for n in range(3))],), r"argument 1\[1\] is an object of type generator"),
        (lambda: lock, (), "lock, which fn uses, is <unlocked|lock, which fn uses, is an object"),
        (id, (Holder(),), r"argument 1\.kept\['locks'\]\[1\] is "),
        (functools.partial(id, threading.Lock()), (), r"fn\[0\] is "),
        (Holder().__init__, (), r"the object of fn\.kept\['locks'\]\[1\] is "),
        (id, (threading.Lock(),), r"object\): make it inside the function"),
    ],
)
def test_what_cannot_travel_is_named_where_it_is(fn, args, said):
    with pytest.raises(gl.errors.BadInput, match=said):
        launch(fn, 2, *args)


def raises_from_another():
    try:
        {}["digit"]
    except KeyError as error:
        raise ValueError("no such digit") from error


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_the_cause_of_an_exception_is_told_and_all_that_python_says_is_kept(backend):
    with pytest.raises(RankError) as e:
        launch(raises_from_another, 2, backend=backend)
    first, second, *_ = str(e.value).splitlines()
    assert first.endswith("raised ValueError: no such digit")
    assert second == "  raised from KeyError: 'digit'"
    assert "direct cause of the following exception" in e.value.traceback
    assert e.value.traceback.endswith("ValueError: no such digit\n")


def test_a_warning_that_all_ranks_give_is_shown_once(capfd):
    def warns():
        for text in ("old", "older"):
            warnings.warn(text, UserWarning, stacklevel=1)
        print("done", file=sys.stderr)

    launch(warns, 3)
    lines = [line.partition("] ")[2] for line in capfd.readouterr().err.splitlines()]
    assert sum(line.endswith("UserWarning: old") for line in lines) == 1
    assert sum(line.endswith("UserWarning: older") for line in lines) == 1
    assert sum("warnings.warn" in line for line in lines) == 2
    assert lines.count("done") == 3

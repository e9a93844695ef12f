"""How an answer on real ranks is judged where they wait too long: a hang, or a busy machine."""

import os
import sys
from pathlib import Path

import pytest

from gpulearn.errors import RankError
from gpulearn.judge import ranks
from gpulearn.judge.limits import waiting_elsewhere
from gpulearn.judge.ranks import RankFailure, demand_on_real_ranks, on_real_ranks
from gpulearn.parallel.launch.forkserver import processes
from gpulearn.parallel.launch.launch import launch

LATE, RAISED = "deadlock", "ValueError"  # kinds of what a launcher says of ranks


def answer():
    pass


def starting(outcomes, seconds):
    """A start that notes how long its ranks wait, and ends in one outcome after another."""
    left = iter(outcomes)

    def start(patience):
        seconds.append(patience)
        outcome = next(left)
        if isinstance(outcome, str):
            error = RankError("rank 0 of 2 …")
            error.rank, error.kind = 0, outcome
            raise error
        return outcome

    return start


def test_a_rank_that_was_only_late_is_given_more_time():
    seconds = []
    assert on_real_ranks(starting([LATE, [1, 2]], seconds), answer) == [1, 2]
    assert seconds == [ranks.REAL_SECONDS, ranks.PATIENT_SECONDS]
    assert ranks.PATIENT_SECONDS > ranks.REAL_SECONDS


def test_a_deadlock_is_one_with_patience_too():
    failure = on_real_ranks(starting([LATE, LATE], []), answer)
    assert isinstance(failure, RankFailure)
    assert failure.sentence == "it is a deadlock: rank 0 waits forever"


def test_what_is_no_wait_is_told_at_once():
    seconds = []
    failure = on_real_ranks(starting([RAISED], seconds), answer)
    assert isinstance(failure, RankFailure)
    assert (failure.kind, len(seconds)) == ("ValueError", 1)


def test_a_demand_on_real_ranks_has_that_patience(monkeypatch):
    start = starting([LATE, [[7], [7]]], [])
    monkeypatch.setattr(ranks, "launch", lambda *args, timeout, backend: start(timeout))

    def judge(work, outcomes):
        return None if outcomes == [7, 7] else "wrong"

    demand = demand_on_real_ranks(lambda *args: None, (2,), lambda count: ["work"], judge)
    assert demand(answer, []) is None


def test_what_ranks_wait_for_a_core_is_kept_when_they_have_ended(monkeypatch):
    waited, living = {1: 0.5, 2: 2.0}, [1, 2]
    monkeypatch.setattr(ranks, "processes", lambda: living)
    monkeypatch.setattr(ranks, "waited_seconds", lambda thread, process: waited[process])
    monkeypatch.setattr(ranks, "_waited", {})
    assert ranks.ranks_wait() == 2.5
    living.remove(2)
    waited[1] = 1.0
    assert ranks.ranks_wait() == 3.0


@pytest.mark.skipif(sys.platform != "linux", reason="another system does not tell")
def test_the_server_and_its_ranks_are_known():
    on_real_ranks(lambda seconds: launch(pow, 2, 7, 2, timeout=60 + seconds), answer)
    server, *_ = processes()
    parent = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1]
    assert int(parent) == os.getpid()
    assert waiting_elsewhere.count(ranks.ranks_wait) == 1
    assert ranks.ranks_wait() > 0

"""Every place for a crash, in one process, and that each broken server is found there."""

import pytest

from gpulearn_lessons.parameter_server.server.crashes import (
    Crash,
    CrashPlan,
    crash_everywhere,
    run_with_crashes,
)
from gpulearn_lessons.parameter_server.server.replica import serve_with_backup

PAIRS = [(), ("primary",), ("backup",), ("worker",)]
PAIRS += [(one, other) for (one,) in PAIRS[1:] for (other,) in PAIRS[1:]]


@pytest.mark.parametrize("whom", PAIRS, ids=lambda whom: "-".join(whom) or "nobody")
@pytest.mark.parametrize(("workers", "pushes", "lr"), [(2, 2, 1.0), (3, 1, 0.25)])
def test_the_solution_loses_nothing_wherever_they_die(whom, workers, pushes, lr):
    runs = list(crash_everywhere(serve_with_backup, CrashPlan(whom, workers, pushes, lr)))
    assert len(runs) >= 18 ** len(whom) / 3
    for run in runs:
        assert run.fault() is None
        assert (run.applied == 1).all()
        assert (run.on_backup == 1).all()
        assert run.acknowledged.all()


def broken(forwards=True, numbers=True, early=False, silent=False, noted_first=False):
    def serve(state, push, forward, acknowledge):
        new = not numbers or push.number > state.applied.get(push.worker, 0)
        if early:
            acknowledge(push)
        if new:
            if noted_first:
                state.applied[push.worker] = push.number
            if forwards:
                forward(push)
            state.weights -= state.lr * push.gradient
            state.applied[push.worker] = push.number
        if not early and (new or not silent):
            acknowledge(push)

    return serve


@pytest.mark.parametrize(
    ("mistake", "whom", "said"),
    [
        ({"forwards": False}, ("primary",), "is missing on the"),
        ({"numbers": False}, ("primary",), "is applied 2 times"),
        ({"numbers": False}, ("worker",), "is applied 2 times"),
        ({"early": True}, ("primary",), "is missing on the"),
        ({"silent": True}, ("worker",), "never acknowledged"),
        ({"noted_first": True}, ("backup",), "is missing on the backup"),
    ],
)
def test_each_mistake_is_found_by_some_crash(mistake, whom, said):
    faults = [run.fault() for run in crash_everywhere(broken(**mistake), CrashPlan(whom))]
    found = [fault for fault in faults if fault]
    assert found
    assert all(said in fault for fault in found)
    assert run_with_crashes(broken(**mistake)).fault() is None or mistake == {"forwards": False}


def test_a_crash_is_told_in_words():
    run = run_with_crashes(broken(numbers=False), [Crash("primary", 3)])
    assert run.fault() == (
        "the primary dies at push 1 of worker 0, before it is acknowledged: push 1 of worker 0 "
        "is applied 2 times on the primary"
    )

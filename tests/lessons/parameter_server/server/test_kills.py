"""A replicated server under SIGKILL: no acknowledged push is lost, none is applied twice."""

import pytest

from gpulearn.errors import BadInput, RankError
from gpulearn_lessons.parameter_server.server.kills import Kill, run_with_kills
from gpulearn_lessons.parameter_server.server.processes import POINTS, WORKER_POINTS


def test_every_point_of_every_program_may_be_the_last():
    kills = [Kill("primary", point) for point in POINTS]
    kills += [Kill("backup", "received"), Kill("backup", "before acknowledge")]
    kills += [Kill("worker", point) for point in WORKER_POINTS]
    report = run_with_kills(kills, pushes=100, timeout=300)
    assert report.kills == tuple(kills)
    assert (report.applied == 1).all()


def without_backup(state, push, forward, acknowledge):
    if push.number > state.applied.get(push.worker, 0):
        state.weights -= state.lr * push.gradient
        state.applied[push.worker] = push.number
    acknowledge(push)


def too_early(state, push, forward, acknowledge):
    acknowledge(push)
    if push.number > state.applied.get(push.worker, 0):
        forward(push)
        state.weights -= state.lr * push.gradient
        state.applied[push.worker] = push.number


@pytest.mark.parametrize(
    ("handle", "point"), [(without_backup, "received"), (too_early, "before forward")]
)
def test_a_push_that_the_backup_lacks_is_lost(handle, point):
    assert run_with_kills([Kill("primary", point)], pushes=20, handle=handle).lost >= 1


def test_a_server_that_raises_is_named_and_one_that_says_nothing_too():
    def raising(state, push, forward, acknowledge):
        raise KeyError("of mine")

    with pytest.raises(RankError, match="a server raised KeyError: 'of mine'"):
        run_with_kills(0, pushes=2, handle=raising)
    silent = lambda state, push, forward, acknowledge: None  # noqa: E731
    with pytest.raises(RankError, match="0 of 4 pushes are acknowledged"):
        run_with_kills(0, pushes=2, handle=silent, timeout=1.0)


def test_a_point_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match="There is no point 'lunch'"):
        run_with_kills([Kill("primary", "lunch")])
    with pytest.raises(BadInput, match="There is no process to kill 'king'"):
        run_with_kills([Kill("king", "received")])

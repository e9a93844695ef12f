"""The player of a fail-over shows what the processes wrote down, and that is what they did."""

import pytest

from gpulearn.errors import BadInput
from gpulearn_lessons.parameter_server import failover_player
from gpulearn_lessons.parameter_server.failovers import FailOverStep, draw, fail_over, sentence
from gpulearn_lessons.parameter_server.server.events import ProcessEvent
from gpulearn_lessons.parameter_server.server.kills import Kill, run_with_kills


def without_numbers(state, push, forward, acknowledge):
    forward(push)
    state.weights -= state.lr * push.gradient
    acknowledge(push)


def test_the_record_ends_where_the_processes_ended():
    report = run_with_kills(6, workers=2, pushes=40, seed=3, timeout=300)
    now = FailOverStep(report.events[0])
    for event in report.events:
        now.advance(event)
    assert sorted(role for role in now.roles.values() if role != "dead") == ["backup", "primary"]
    for who, role in now.roles.items():
        wanted = {"primary": report.applied, "backup": report.on_backup}.get(role)
        for (worker, number), times in now.held[who].items():
            assert wanted is None or wanted[worker, number - 1] == times
        assert wanted is None or len(now.held[who]) == wanted.size
    assert now.heard == {(worker, number) for worker in range(2) for number in range(1, 41)}


def test_a_push_that_is_sent_again_is_seen_to_count_twice():
    kills = [Kill("primary", "before acknowledge")]
    report = run_with_kills(kills, pushes=20, handle=without_numbers, timeout=300)
    run = fail_over(report.events)
    sentences = [sentence(run, step) for step in range(len(run.moments))]
    assert any("server 1 is killed." in text for text in sentences)
    assert any(" again." in text for text in sentences)
    assert "Server 1 is dead. Server 2, the primary, has " in sentences[-1]
    assert sentences[-1].count("twice") == 2  # on the new primary and on the new backup
    player = failover_player(report)
    assert sentences[-1] in repr(player)
    player.controls["step"].value = 1
    assert sentences[1] in player.picture.value.replace("&#x27;", "'")
    assert draw(run, 0)[0].alt == sentences[0]


def test_a_run_in_which_no_primary_died_has_nothing_to_show():
    report = run_with_kills([Kill("backup", "received")], pushes=10, timeout=300)
    with pytest.raises(BadInput, match="no primary that was killed after a push"):
        failover_player(report)
    with pytest.raises(BadInput, match="what run_with_kills returns"):
        failover_player(3)


def test_a_primary_that_dies_before_any_push_is_no_fail_over_to_show():
    early = (ProcessEvent(1, "server 0", "serves"), ProcessEvent(2, "server 0", "is killed"))
    with pytest.raises(BadInput, match="no primary that was killed after a push"):
        fail_over(early)
    report = run_with_kills([Kill("primary", "forwarded")], pushes=10, timeout=300)
    run = fail_over((*early, *report.events))
    assert run.pushes == fail_over(report.events).pushes
    assert run.moments[-1].roles["server 0"] == run.moments[-1].roles["server 1"] == "dead"

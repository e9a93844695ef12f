"""The clinic's parts: the model of a mirrored strategy, what a step leaves behind, the programs."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn_lessons.broken_tutorials import mirrored_strategy
from gpulearn_lessons.broken_tutorials.evidence import MISTAKES, case_reports, step_report
from gpulearn_lessons.broken_tutorials.strategy import PerReplica, Strategy
from gpulearn_lessons.frameworks.processes import run
from gpulearn_lessons.frameworks.recordings import find
from gpulearn_lessons.parameter_server.server.parameter_server import train_with_server

SEEN = find("tensorflow", mirrored_strategy.observe, (), "it is absent").result
BATCH = np.arange(4.0)


# --- the strategy, held against what TensorFlow did


def test_a_plain_batch_is_given_whole_and_a_distributed_one_in_parts():
    strategy = Strategy(2)
    for name, batch in {"plain": BATCH, "distributed": strategy.distribute(BATCH)}.items():
        parts = strategy.run(list, batch).values
        assert [list(map(float, part)) for part in parts] == SEEN["given"][name]


@pytest.mark.parametrize("how", [name for name in SEEN["applied"] if "," in name])
def test_the_optimizer_applies_what_tensorflow_applies(how):
    strategy, weights = Strategy(2), np.zeros(1)
    optimizer = strategy.optimizer(weights, 1.0)

    def replica(x):
        optimizer.apply(np.array([x.sum() / (4 if "whole" in how else len(x))]))

    strategy.run(replica, BATCH if "plain" in how else strategy.distribute(BATCH))
    assert -weights[0] == SEEN["applied"][how]


@pytest.mark.parametrize("inside", [True, False])
def test_an_optimizer_made_inside_has_no_momentum(inside):
    strategy, weights = Strategy(2), np.zeros(1)
    outer = strategy.optimizer(weights, 0.1, 0.9)

    def replica():
        optimizer = strategy.optimizer(weights, 0.1, 0.9) if inside else outer
        optimizer.apply(np.array([0.5]))

    for _ in range(3):
        strategy.run(replica)
    ended = SEEN["momentum"]["made in each call" if inside else "made once"]
    assert weights[0] == pytest.approx(ended)


def test_a_value_of_each_replica_is_no_number():
    assert SEEN["numpy"][0] == Strategy(1).run(np.mean, BATCH)
    assert not hasattr(Strategy(2).run(np.mean, BATCH), "item")
    assert SEEN["numpy"][1].startswith("AttributeError: 'PerReplica' object has no attribute")


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 5), st.lists(st.integers(-9, 9), max_size=12))
def test_parts_are_the_batch_and_nearly_equal(replicas, batch):
    parts = Strategy(replicas).distribute(batch).values
    assert [one for part in parts for one in part] == batch
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_strategy_says_what_it_was_not_given():
    strategy = Strategy(2)
    with pytest.raises(BadInput, match="give what strategy.run returned"):
        strategy.reduce("sum", 3.0)
    with pytest.raises(BadInput, match="how"):
        strategy.reduce("max", PerReplica((1, 2)))
    with pytest.raises(BadInput, match="call it outside"):
        strategy.run(lambda: strategy.run(list, []))
    optimizer, calls = strategy.optimizer(np.zeros(1), 1.0), []

    def once():
        calls.append(1)
        if len(calls) == 1:
            optimizer.apply(np.ones(1))

    with pytest.raises(BadInput, match="all must each time"):
        strategy.run(once)
    assert strategy.running is None  # a failed run leaves nothing behind


# --- what is shown of TensorFlow


def test_tensorflow_itself_still_does_what_was_recorded():
    pytest.importorskip("tensorflow")
    seen = run("tensorflow", mirrored_strategy.observe)
    for name in ("given", "applied"):
        assert seen[name] == SEEN[name]


# --- evidence


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize(("ranks", "micro_batches"), [(3, 2), (4, 3)])
def test_each_mistake_is_found_by_its_trace(mistake, ranks, micro_batches):
    report = step_report(mistake, ranks=ranks, micro_batches=micro_batches)
    assert case_reports(report) == [mistake]


@pytest.mark.parametrize(
    "both", [("sum over ranks", "sum over micro-batches"), ("exchange each time", "whole tensors")]
)
@pytest.mark.parametrize(("ranks", "micro_batches"), [(3, 2), (4, 2), (6, 3)])
def test_two_mistakes_in_one_number_are_both_found(both, ranks, micro_batches):
    report = step_report(*both, ranks=ranks, micro_batches=micro_batches)
    assert sorted(case_reports(report)) == sorted(both)


@pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 1), (3, 1), (4, 2), (6, 3)])
def test_a_right_step_is_that_of_one_process(ranks, micro_batches):
    report = step_report(ranks=ranks, micro_batches=micro_batches)
    assert case_reports(report) == []
    assert (report.apart_before, report.apart_after, report.update) == (0, 0, 1)
    assert set(report.visits) == {1}
    assert report.sent == gl.parallel.ring_bytes_per_rank(ranks, report.gradient_bytes)


def test_reports_ask_for_what_there_is():
    with pytest.raises(BadInput, match="mistake"):
        step_report("bad luck")
    with pytest.raises(BadInput, match="ranks is 7"):
        step_report(ranks=7)
    with pytest.raises(BadInput, match="give what step_report returned"):
        case_reports("own starts")


# --- the server that counts


def test_a_server_that_counts_gradients_takes_them_from_the_quick():
    def third(collected, weights, gradient, lr, version, computed_at):
        collected.append(gradient)
        return version + 1

    def pull(weights, worker, step):
        return weights - worker

    quick = {"seconds": [0.001, 0.25, 0.25]}
    train = partial(train_with_server, pull, torch.zeros(1), 303, 0.05, **quick)
    counted = gl.simulate(partial(train, apply=partial(third, [])), 4).results[0]
    each = gl.simulate(partial(train, bound=0), 4).results[0]
    assert counted.by_worker == {0: 301, 1: 1, 2: 1}
    assert each.by_worker == {0: 101, 1: 101, 2: 101}

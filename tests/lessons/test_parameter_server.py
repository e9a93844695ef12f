"""The exercises of notebook 24, with answers written by other hands than the catalogue's."""

import math

import pytest
import torch.distributed as dist

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks


def rate_of_age(weights, gradient, lr, version, computed_at):
    age = version - computed_at
    for i in range(len(weights)):
        weights[i] -= lr * gradient[i] / (age + 1)
    return version + 1


def rate_by_square_root(weights, gradient, lr, version, computed_at):
    weights -= lr / (1 + version - computed_at) ** 0.5 * gradient
    return version + 1


def those_within(clocks, waiting, bound=math.inf):
    slow = sorted(clocks)[0]
    return [w for w in range(len(clocks)) if w in waiting and not clocks[w] > slow + bound]


def safe(state, push, forward, acknowledge):
    known = push.worker in state.applied and state.applied[push.worker] >= push.number
    if not known:
        forward(push)
        state.applied[push.worker] = push.number
        state.weights = state.weights - state.lr * push.gradient
    acknowledge(push)


def one_counter(state, push, forward, acknowledge):
    forward(push)
    if state.applied.get("last") != (push.worker, push.number):
        state.weights -= state.lr * push.gradient
        state.applied["last"] = (push.worker, push.number)
    acknowledge(push)


def by_torch(weights, gradient, steps, every, lr):
    for step in range(steps):
        weights.add_(gradient(weights), alpha=-lr)
        if (step + 1) % every == 0 or step + 1 == steps:
            dist.all_reduce(weights)
            weights.div_(dist.get_world_size())
    return weights


def with_gradients_of_the_start(weights, gradient, steps, every, lr):
    start = weights.clone()
    for step in range(1, steps + 1):
        weights -= lr * gradient(start)
        if step % every == 0 or step == steps:
            weights.copy_(sum_over_ranks(weights) / world_size())
    return weights


def with_rounds_and_a_mean_for_all(weights, gradient, steps, every, lr):
    def agree():
        weights.copy_(sum_over_ranks(weights / world_size()))

    for _ in range(steps // every):
        for _ in range(every):
            weights.sub_(lr * gradient(weights))
        agree()
    for _ in range(steps % every):
        weights.sub_(lr * gradient(weights))
    agree()
    return weights


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("apply_stale_gradient", rate_of_age, None),
        (
            "apply_stale_gradient",
            rate_by_square_root,
            "for version 1, computed at 0, weights[0] is",
        ),
        ("bounded_staleness", those_within, None),
        ("serve_with_backup", safe, None),
        ("serve_with_backup", one_counter, "is applied 2 times on the "),
        ("local_sgd", by_torch, None),
        ("local_sgd", with_rounds_and_a_mean_for_all, "one mean is unnecessary"),
        ("local_sgd", with_gradients_of_the_start, "rank 0 ends with weights[0] = "),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis
    assert diagnosis is None or "\n" not in diagnosis


def test_what_the_notebook_gives_is_told_its_mistake():
    exercise = find("serve_with_backup")
    assert "nothing is forwarded" in diagnose(exercise, exercise.answers.given)

"""The exercises of notebook 24, with answers written by other hands than the catalogue's."""

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks


def rate_by_square_root(weights, gradient, lr, version, computed_at):
    weights -= lr / (1 + version - computed_at) ** 0.5 * gradient
    return version + 1


def one_counter(state, push, forward, acknowledge):
    forward(push)
    if state.applied.get("last") != (push.worker, push.number):
        state.weights -= state.lr * push.gradient
        state.applied["last"] = (push.worker, push.number)
    acknowledge(push)


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


def in_other_memory(weights, gradient, steps, every, lr):
    own = weights.clone()
    for step in range(1, steps + 1):
        own = own - lr * gradient(own)
        if step % every == 0 or step == steps:
            own = sum_over_ranks(own) / world_size()
    weights.data = own
    return weights


def bounded_by_default(clocks, waiting, bound=0):
    return [worker for worker in waiting if clocks[worker] - min(clocks) <= bound]


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        (
            "apply_stale_gradient",
            rate_by_square_root,
            "for version 1, computed at 0, weights[0] is",
        ),
        (
            "bounded_staleness",
            bounded_by_default,
            "bound is 0 where it is left out, and the stub has inf: keep that",
        ),
        ("serve_with_backup", one_counter, "is applied 2 times on the "),
        ("local_sgd", in_other_memory, "or weights.data = …: write into it"),
        ("local_sgd", with_rounds_and_a_mean_for_all, "one mean is unnecessary"),
        ("local_sgd", with_gradients_of_the_start, "rank 0 ends with weights[0] = "),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert said in diagnosis
    assert "\n" not in diagnosis


def test_what_the_notebook_gives_is_told_its_mistake():
    exercise = find("serve_with_backup")
    assert "nothing is forwarded" in diagnose(exercise, exercise.answers.given)

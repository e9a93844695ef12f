"""The exercises of notebook A, with answers written by other hands than the catalogue's."""

import math

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose

# --- right


# --- wrong


def twice_divided(strategy, gradients_of, weights, batch, lr):
    (shared,) = strategy.experimental_distribute_dataset([batch])

    def each(rows):
        return gradients_of(weights, rows).sum(0) / len(batch) / strategy.num_replicas_in_sync

    return weights - lr * strategy.reduce("SUM", strategy.run(each, args=(shared,)), axis=None)


def parts_as_an_array(strategy, gradients_of, weights, batch, lr):
    (shared,) = strategy.experimental_distribute_dataset([batch])
    return weights - lr * gradients_of(weights, shared).mean(axis=0)


def gradients_first(strategy, gradients_of, weights, batch, lr):
    (shared,) = strategy.experimental_distribute_dataset([batch])
    found = iter([gradients_of(weights, rows) for rows in shared.values])
    parts = strategy.run(lambda: next(found).sum(axis=0) / len(batch))
    return weights - lr * strategy.reduce("SUM", parts, axis=None)


def first_alone(strategy, gradients_of, weights, batch, lr):
    (shared,) = strategy.experimental_distribute_dataset([batch])
    at = iter(range(99))
    parts = strategy.run(
        lambda rows: gradients_of(weights, batch).mean(0) if next(at) == 0 else 0 * weights,
        args=(shared,),
    )
    return weights - lr * strategy.reduce("SUM", parts, axis=None)


def only_rows(shape, mesh, spec):
    n = math.prod(mesh.values())
    return [(d * shape[0] // n, (d + 1) * shape[0] // n) for d in range(n)]


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("distributed_step", twice_divided, "N times too short"),
        ("distributed_step", parts_as_an_array, "pass them to a function with strategy.run"),
        ("distributed_step", gradients_first, "no replica computed them: gradients_of is called"),
        ("distributed_step", first_alone, "one replica computed the gradients of all rows"),
        ("device_shards", only_rows, "device 0 has (0, 2), expected (start, end) for each axis"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)

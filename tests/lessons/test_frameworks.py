"""The exercises of notebook A, with answers written by other hands than the catalogue's."""

import math

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose

# --- right


def in_float32(losses, global_batch, weights=None):
    w = np.ones(len(losses), np.float32) if weights is None else np.float32(weights)
    return (np.float32(losses) * w / np.float32(global_batch)).sum()


def summed_in_steps(strategy, gradients_of, weights, batch, lr):
    total = 0
    for shared in strategy.experimental_distribute_dataset([batch]):
        parts = strategy.run(lambda rows: sum(gradients_of(weights, rows), 0 * weights), (shared,))
        total = total + strategy.reduce("SUM", parts, axis=None)
    return weights - lr * total / batch.shape[0]


def as_dictionary(shape, mesh, spec):
    names, counts = zip(*mesh.items(), strict=True)
    found = {}
    for device in range(math.prod(counts)):
        rest, at = device, {}
        for name, count in reversed(list(zip(names, counts, strict=True))):
            rest, at[name] = divmod(rest, count)
        part = []
        for i, n in enumerate(shape):
            axis = spec[i] if i < len(spec) else None
            k = n // mesh[axis] if axis else n
            part.append(range(at[axis] * k, (at[axis] + 1) * k) if axis else range(n))
        found[device] = part
    return found


def as_arrays(shape, mesh, spec):
    padded = [*spec, *[None] * (len(shape) - len(spec))]
    return np.array(
        [
            [
                np.array([i, i + 1]) * (n // mesh[a])
                if a and (i := place[list(mesh).index(a)]) is not None
                else [0, n]
                for n, a in zip(shape, padded, strict=True)
            ]
            for place in np.ndindex(*mesh.values())
        ]
    )


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
        ("average_loss", in_float32, None),
        ("distributed_step", summed_in_steps, None),
        ("device_shards", as_dictionary, None),
        ("device_shards", as_arrays, None),
        ("distributed_step", twice_divided, "N times too short"),
        ("distributed_step", parts_as_an_array, "pass them to a function with strategy.run"),
        ("distributed_step", gradients_first, "no replica computed them: gradients_of is called"),
        ("distributed_step", first_alone, "one replica computed the gradients of all rows"),
        ("device_shards", only_rows, "device 0 has (0, 2), expected (start, end) for each axis"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis

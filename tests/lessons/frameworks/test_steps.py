"""What replicas divide, add and hold, against plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn.errors import BadInput
from gpulearn_lessons.broken_tutorials.strategy import PerReplica
from gpulearn_lessons.frameworks.batch_parts import device_shards
from gpulearn_lessons.frameworks.global_mean import average_loss
from gpulearn_lessons.frameworks.stand_in import StandInStrategy, distributed_step


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), st.integers(1, 4), st.booleans())
def test_the_parts_of_all_replicas_add_up_to_the_mean(numbers, replicas, weighted):
    losses = np.array(numbers) / 4
    weights = np.arange(len(losses)) % 3 if weighted else np.ones(len(losses))
    parts = zip(np.array_split(losses, replicas), np.array_split(weights, replicas), strict=True)
    total = sum(average_loss(part, len(losses), w if weighted else None) for part, w in parts)
    assert total == pytest.approx(float((losses * weights).mean()), abs=1e-12)


MESHES = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1)


@given(MESHES, st.data())
def test_each_element_lies_on_as_many_devices_as_hold_copies(mesh, data):
    names = data.draw(st.permutations([*mesh, None, None]))[: data.draw(st.integers(1, 3))]
    shape = [mesh.get(name, 1) * data.draw(st.integers(1, 3)) for name in names]
    spec = tuple(names)[: data.draw(st.integers(0, len(names)))]
    parts = device_shards(shape, mesh, spec)
    held = np.zeros(shape, int)
    for part in parts:
        held[tuple(slice(*bounds) for bounds in part)] += 1
    copies = np.prod([n for name, n in mesh.items() if name not in spec], dtype=int)
    assert (held == copies).all()
    assert len(parts) == np.prod(list(mesh.values()))


def test_devices_are_numbered_row_by_row():
    parts = device_shards((4, 9), {"data": 2, "model": 3}, ("data", "model"))
    starts = [(rows[0], columns[0]) for rows, columns in parts]
    assert starts == list(itertools.product((0, 2), (0, 3, 6)))


@given(st.integers(1, 4), st.integers(1, 9))
def test_a_step_of_replicas_is_that_of_one(replicas, rows):
    batch = np.arange(3.0 * rows).reshape(rows, 3)
    weights = np.array([1.0, -2.0, 0.5])
    new = distributed_step(StandInStrategy(replicas), np.subtract, weights, batch, 0.5)
    assert new == pytest.approx(weights - 0.5 * (weights - batch).mean(axis=0))


def test_the_stand_in_gives_parts_to_those_that_have_them_and_the_rest_to_all():
    strategy = StandInStrategy(3)
    (part,) = strategy.experimental_distribute_dataset([np.arange(4)])
    own, whole = strategy.run(lambda own, whole: (own.tolist(), whole), args=(part, "all"))
    assert (own.values, whole.values) == (([0, 1], [2], [3]), ("all",) * 3)
    assert strategy.reduce("SUM", PerReplica((1, 2, 6)), axis=None) == 9
    assert strategy.reduce("MEAN", PerReplica((1, 2, 6)), axis=None) == 3


def test_the_stand_in_says_which_replica_works():
    strategy = StandInStrategy(2)
    (part,) = strategy.experimental_distribute_dataset([np.ones(2)])
    assert strategy.run(lambda own: strategy.replica, args=(part,)).values == (0, 1)
    assert strategy.replica is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda s: s.run(len, args=np.ones(3)), r"args is an array of shape \(3,\): give a tuple"),
        (lambda s: s.reduce("ADD", PerReplica((1,)), axis=None), "no reduction 'ADD'"),
        (lambda s: s.reduce("SUM", PerReplica((1,)), axis=0), "axis is 0: here values are whole"),
        (lambda s: s.reduce("SUM", 3, axis=None), "value is 3: give what strategy.run returned"),
        (lambda s: StandInStrategy(0), "replicas is 0"),
        (
            lambda s: s.experimental_distribute_dataset(np.ones((4, 2))),
            r"batches is an array of shape \(4, 2\), of which each row .* such as \[batch\]",
        ),
    ],
)
def test_what_the_stand_in_cannot_take_is_told(wrong, said):
    with pytest.raises(BadInput, match=said):
        wrong(StandInStrategy(2))

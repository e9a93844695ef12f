"""What the package says of TensorFlow and JAX, held against both where they are installed."""

import os

import numpy as np
import pytest

from gpulearn_lessons.frameworks.availability import missing
from gpulearn_lessons.frameworks.batch_parts import device_shards
from gpulearn_lessons.frameworks.global_mean import average_loss
from gpulearn_lessons.frameworks.processes import ended, run


@pytest.fixture(scope="module", autouse=True)
def _frameworks():
    """Both; a run that requires them fails without, a person's run skips."""
    if absent := missing():
        assert not os.environ.get("GPULEARN_REQUIRE_FRAMEWORKS"), absent
        pytest.skip(absent)
    yield
    ended()


def averages(losses, global_batch, weights):
    import tensorflow as tf

    return float(tf.nn.compute_average_loss(losses, weights, global_batch))


@pytest.mark.parametrize("weights", [None, [0.0, 2.0, 0.5]])
def test_the_average_is_tensorflows(weights):
    losses = np.array([1.0, 4.0, 2.0], np.float32)
    own = average_loss(losses, 5, None if weights is None else np.array(weights, np.float32))
    assert own == pytest.approx(run("tensorflow", averages, losses, 5, weights), rel=1e-6)


def named_shards(shape, mesh, spec):
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    count = int(np.prod(list(mesh.values())))
    devices = np.array(jax.devices()[:count]).reshape(tuple(mesh.values()))
    sharding = NamedSharding(Mesh(devices, tuple(mesh)), PartitionSpec(*spec))
    parts = sharding.devices_indices_map(tuple(shape))
    return [
        [part.indices(n)[:2] for part, n in zip(parts[d], shape, strict=True)] for d in devices.flat
    ]


@pytest.mark.parametrize(
    ("shape", "mesh", "spec"),
    [
        ((8, 6), {"data": 4, "model": 2}, ("data",)),
        ((4, 6), {"data": 2, "model": 3}, (None, "model")),
        ((6, 8, 2), {"a": 2, "b": 1, "c": 3}, ("c", None, "a")),
        ((5,), {"a": 2, "b": 2}, ()),
    ],
)
def test_shards_are_those_of_jax(shape, mesh, spec):
    got = run("jax", named_shards, shape, mesh, spec)
    expected = [[list(bounds) for bounds in part] for part in device_shards(shape, mesh, spec)]
    assert got == expected

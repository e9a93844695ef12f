"""What the package says of TensorFlow and JAX, held against both where they are installed."""

import os

import numpy as np
import pytest
import torch

from gpulearn_lessons.frameworks.availability import missing
from gpulearn_lessons.frameworks.batch_parts import device_shards
from gpulearn_lessons.frameworks.global_mean import average_loss
from gpulearn_lessons.frameworks.networks import NETWORKS
from gpulearn_lessons.frameworks.processes import ended, run
from gpulearn_lessons.frameworks.torch_networks import torch_network, weights_of


@pytest.fixture(scope="module", autouse=True)
def _frameworks():
    """Both; a run that requires them fails without, a person's run skips."""
    if absent := missing():
        assert not os.environ.get("GPULEARN_REQUIRE_FRAMEWORKS"), absent
        pytest.skip(absent)
    yield
    ended()


def keras_scores(network, weights, images):
    from gpulearn_lessons.frameworks.keras_networks import keras_network

    return keras_network(network, weights)(images.transpose(0, 2, 3, 1))


def scores_of_jax(network, weights, images):
    from gpulearn_lessons.frameworks.jax_networks import jax_scores

    return jax_scores(network, weights, images)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_with_torchs_weights_gives_torchs_scores(name):
    network = NETWORKS[name]
    images = np.random.default_rng(0).random((3, *network.shape), dtype=np.float32)
    model = torch_network(network)
    expected = model(torch.from_numpy(images)).detach().numpy()
    for framework, scores in {"tensorflow": keras_scores, "jax": scores_of_jax}.items():
        got = np.array(run(framework, scores, network, weights_of(model), images))
        assert np.abs(got - expected).max() < 2e-6, framework


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
    found = NamedSharding(Mesh(devices, tuple(mesh)), PartitionSpec(*spec))
    parts = found.devices_indices_map(tuple(shape))
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
    found = run("jax", named_shards, shape, mesh, spec)
    expected = [[list(bounds) for bounds in part] for part in device_shards(shape, mesh, spec)]
    assert found == expected

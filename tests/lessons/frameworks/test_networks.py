"""Networks as rows of layers: what they count, and torch as the oracle."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from gpulearn_lessons.frameworks.networks import (
    CNN,
    LENET5,
    MLP,
    NETWORKS,
    Architecture,
    count_parameters,
)
from gpulearn_lessons.frameworks.torch_networks import torch_network


def test_the_networks_of_the_tutorials_have_their_counts():
    counted = {name: count_parameters(*network) for name, network in NETWORKS.items()}
    assert counted == {"MLP": 101_770, "CNN": 121_930, "LeNet-5": 61_706}
    assert list(NETWORKS.values()) == [MLP, CNN, LENET5]


CONVOLUTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("conv"), st.integers(1, 4), st.integers(1, 3)),
        st.tuples(st.just("pool"), st.integers(1, 2)),
    ),
    max_size=3,
)
DENSE = st.lists(st.tuples(st.just("dense"), st.integers(1, 5)), min_size=1, max_size=3)


@given(st.tuples(st.integers(1, 3), st.integers(24, 30), st.integers(24, 30)), CONVOLUTIONS, DENSE)
def test_torch_counts_the_same_and_gives_the_scores_of_the_last_layer(shape, first, last):
    network = Architecture(shape, (*first, *last))
    model = torch_network(network)
    assert sum(w.numel() for w in model.parameters()) == count_parameters(*network)
    assert model(torch.zeros(2, *shape)).shape == (2, last[-1][1])


def test_a_seed_gives_the_same_weights_and_leaves_the_global_generator():
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    first, second = (list(torch_network(MLP, seed=3).parameters()) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert (torch.random.get_rng_state() == before).all()
    assert (first[0] != next(torch_network(MLP, seed=4).parameters())).any()

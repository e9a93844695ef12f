"""Weights and biases of a list of layers."""

from typing import Any

from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.frameworks.networks import NETWORKS, count_parameters


def cases() -> list[Case]:
    """The three networks; channels, odd sizes, oblong images, other orders of layers."""
    plans: list[tuple[str, tuple[int, int, int], tuple[Any, ...]]] = [
        *((f"the {name}", network.shape, network.layers) for name, network in NETWORKS.items()),
        ("one dense layer", (3, 5, 7), (("dense", 4),)),
        ("one convolution of a color image", (3, 12, 9), (("conv", 8, 3),)),
        ("a filter of 1 × 1", (5, 6, 6), (("conv", 7, 1), ("dense", 3))),
        ("a pool that leaves a row out", (1, 11, 8), (("conv", 2, 3), ("pool", 2), ("dense", 5))),
        ("a pool of 3 first", (2, 10, 13), (("pool", 3), ("conv", 4, 2), ("dense", 6))),
        ("no layer", (1, 28, 28), ()),
    ]
    return [Case(label, (shape, layers)) for label, shape, layers in plans]


EXERCISE = Exercise(
    task="Count the parameters of a network, given as a list of layers.",
    reference=count_parameters,
    cases=cases,
)

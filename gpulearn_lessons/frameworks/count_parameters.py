"""Weights and biases of a list of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.frameworks.networks import NETWORKS, count_parameters

answers = Answers(count_parameters)


def cases() -> list[Case]:
    """The three networks; channels, odd sizes, oblong images, other orders of layers."""
    plans: list[tuple[str, tuple[int, int, int], tuple[Any, ...]]] = [
        *((f"the {name}", one.shape, one.layers) for name, one in NETWORKS.items()),
        ("one dense layer", (3, 5, 7), (("dense", 4),)),
        ("one convolution of a colour image", (3, 12, 9), (("conv", 8, 3),)),
        ("a filter of 1 × 1", (5, 6, 6), (("conv", 7, 1), ("dense", 3))),
        ("a pool that leaves a row out", (1, 11, 8), (("conv", 2, 3), ("pool", 2), ("dense", 5))),
        ("a pool of 3 first", (2, 10, 13), (("pool", 3), ("conv", 4, 2), ("dense", 6))),
        ("no layer", (1, 28, 28), ()),
    ]
    return [Case(label, (shape, layers)) for label, shape, layers in plans]


BIAS = "total += size * size * channels * filters + filters"
DENSE = "total += inputs * sizes[0] + sizes[0]"
AFTER = "channels, height, width = filters, height - size + 1, width - size + 1"
POOL = "height, width = height // sizes[0], width // sizes[0]"

answers.edit(
    {BIAS: "total += size * size * channels * filters", DENSE: "total += inputs * sizes[0]"},
    "the biases are missing: each filter and each output of a dense layer has one.",
)
answers.edit(
    {BIAS: "total += size * size * channels * filters"},
    "the biases of the convolutions are missing: each filter has one.",
)
answers.edit(
    {DENSE: "total += inputs * sizes[0]"},
    "the biases of the dense layers are missing: each output has one.",
)
answers.edit(
    {
        BIAS: "total += size * size * channels * filters + 1",
        DENSE: "total += inputs * sizes[0] + 1",
    },
    "each layer has one bias: there is one for each filter, and for each output of a dense layer.",
)
answers.edit(
    {BIAS: "total += size * size * channels * filters + 1"},
    "a convolution has a bias for each of its filters, not one for all of them.",
)
answers.edit(
    {"filters, size = sizes": "size, filters = sizes"},
    'filters and size are exchanged: ("conv", 32, 3) has 32 filters of 3 × 3.',
)
answers.edit(
    {BIAS: "total += size * size * filters + filters"},
    "a filter has size × size numbers for each channel that comes in, not for one alone.",
)
answers.edit(
    {BIAS: "total += size * channels * filters + filters"},
    "a filter is a square: size × size numbers for each channel that comes in.",
)
answers.edit(
    {AFTER: "channels = filters"},
    "a convolution without padding makes an image smaller: size − 1 rows and columns fewer.",
)
answers.edit(
    {AFTER: "channels, height, width = filters, height - size, width - size"},
    "a filter of size × size fits height − size + 1 times: count the places, 28 − 3 + 1 = 26.",
)
answers.edit(
    {AFTER: "height, width = height - size + 1, width - size + 1"},
    "after a convolution there are as many channels as it has filters.",
)
answers.edit({POOL: "pass"}, "a pool makes height and width smaller, each divided by its size.")
answers.edit(
    {POOL: "height, width = -(-height // sizes[0]), -(-width // sizes[0])"},
    "a pool leaves out what fills no whole square: round down.",
)
answers.edit(
    {POOL: "height, width = height / sizes[0], width / sizes[0]"},
    "/ leaves fractions of a pixel: a pool leaves out what fills no whole square, so divide with "
    "//.",
)
answers.edit(
    {POOL: "height, width = height - sizes[0] + 1, width - sizes[0] + 1"},
    "the squares of a pool lie side by side, and do not overlap as a filter's places do: divide "
    "height and width by its size.",
)
answers.edit(
    {"channels, height, width = shape": "channels, height, width = shape[0], shape[1], shape[1]"},
    "the image is taken for a square: shape has a height and a width.",
)
answers.edit(
    {"channels, height, width = shape": "channels, height, width = shape[0], shape[2], shape[2]"},
    "the image is taken for a square: shape has a height and a width.",
)
answers.edit(
    {POOL: "height, width = height // 2, width // 2"},
    "every pool is taken for one of 2: divide by the number that stands in the layer.",
)
answers.edit(
    {AFTER: "channels, height, width = filters, height - size + 1, height - size + 1"},
    "height and width need not be equal: a convolution takes size − 1 from each of them.",
)
answers.edit(
    {POOL: "height = height // sizes[0]"}, "a pool divides the width as well as the height."
)
answers.edit(
    {"            channels, height, width = sizes[0], 1, 1\n": ""},
    "after a dense layer there are as many numbers as it has outputs, and no image any more.",
)
answers.edit(
    {"channels, height, width = sizes[0], 1, 1": "channels = sizes[0]"},
    "what comes out of a dense layer counts as an image of 1 × 1: height and width change as well.",
)
answers.edit(
    {"inputs = channels * height * width": "inputs = channels"},
    "a dense layer takes all numbers of the image that comes in: channels · height · width.",
)
answers.edit(
    {"inputs = channels * height * width": "inputs = height * width"},
    "a dense layer takes the numbers of all channels: channels · height · width.",
)


@answers.wrong(
    "a pool has no parameters: it takes the largest of each square, and nothing is learned."
)
def pool_has_weights(shape: Any, layers: Any) -> Any:
    channels, height, width = shape
    total = 0
    for kind, *sizes in layers:
        if kind == "conv":
            filters, size = sizes
            total += size * size * channels * filters + filters
            channels, height, width = filters, height - size + 1, width - size + 1
        elif kind == "pool":
            total += sizes[0] ** 2
            height, width = height // sizes[0], width // sizes[0]
        else:
            total += channels * height * width * sizes[0] + sizes[0]
            channels, height, width = sizes[0], 1, 1
    return total


@answers.wrong("the count is that of the last layer: add the layers up.")
def last_layer(shape: Any, layers: Any) -> Any:
    return count_parameters(shape, layers) - count_parameters(shape, layers[:-1])


@answers.right
def by_inputs(shape: Any, layers: Any) -> Any:
    c, h, w = shape
    counts = []
    for layer in layers:
        if layer[0] == "conv":
            _, f, k = layer
            counts.append((k * k * c + 1) * f)
            c, h, w = f, h - (k - 1), w - (k - 1)
        if layer[0] == "pool":
            h //= layer[1]
            w //= layer[1]
        if layer[0] == "dense":
            counts.append((c * h * w + 1) * layer[1])
            c, h, w = layer[1], 1, 1
    return np.sum(counts, dtype=np.int64)


@answers.right
def from_the_front(shape: Any, layers: Any) -> Any:
    if not layers:
        return 0
    (kind, *sizes), *rest = layers
    inputs = int(np.prod(shape))
    if kind == "dense":
        return (inputs + 1) * sizes[0] + from_the_front((sizes[0], 1, 1), rest)
    if kind == "pool":
        return from_the_front((shape[0], shape[1] // sizes[0], shape[2] // sizes[0]), rest)
    filters, size = sizes
    smaller = (filters, shape[1] - size + 1, shape[2] - size + 1)
    return filters * (shape[0] * size**2 + 1) + from_the_front(smaller, rest)


EXERCISE = Exercise(
    task="Count the parameters of a network that is given as a list of layers.",
    reference=count_parameters,
    cases=cases,
    answers=answers,
)

"""Three networks from tutorials as lists of layers, and their numbers of parameters."""

from collections.abc import Sequence
from typing import NamedTuple

Layer = tuple[str, int] | tuple[str, int, int]


class Architecture(NamedTuple):
    """A network for images of `shape` (channels, height, width).

    A ("conv", filters, size) has filters of size × size weights for each channel, no padding and
    stride 1; a ("pool", size) keeps the largest number of each size × size square and ignores what
    fills none; a ("dense", outputs) takes all numbers of its input. Each filter and each output has
    a bias. ReLU follows each conv and each dense layer except the last.
    """

    shape: tuple[int, int, int]
    layers: tuple[Layer, ...]


MLP = Architecture((1, 28, 28), (("dense", 128), ("dense", 10)))
CNN = Architecture(
    (1, 28, 28),
    (("conv", 32, 3), ("pool", 2), ("conv", 64, 3), ("pool", 2), ("dense", 64), ("dense", 10)),
)
# LeCun et al., "Gradient-based learning applied to document recognition", Proceedings of the IEEE
# 86, 1998, as it is mostly built today: a full second convolution, ReLU, max-pooling
LENET5 = Architecture(
    (1, 32, 32),
    (
        *(("conv", 6, 5), ("pool", 2), ("conv", 16, 5), ("pool", 2)),
        *(("dense", 120), ("dense", 84), ("dense", 10)),
    ),
)
NETWORKS = {"MLP": MLP, "CNN": CNN, "LeNet-5": LENET5}


def count_parameters(shape: Sequence[int], layers: Sequence[Layer]) -> int:
    """Count the weights and biases of a network.

    A conv has size² · channels · filters + filters, a dense layer inputs · outputs + outputs, a
    pool none; shape and layers are those of `Architecture`.

    >>> count_parameters((1, 28, 28), [("dense", 128), ("dense", 10)])
    101770
    """
    channels, height, width = shape
    total = 0
    for kind, *sizes in layers:
        if kind == "conv":
            filters, size = sizes
            total += size * size * channels * filters + filters
            channels, height, width = filters, height - size + 1, width - size + 1
        elif kind == "pool":
            height, width = height // sizes[0], width // sizes[0]
        else:
            inputs = channels * height * width
            total += inputs * sizes[0] + sizes[0]
            channels, height, width = sizes[0], 1, 1
    return total

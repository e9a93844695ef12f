"""A network of a list of layers in torch."""

from __future__ import annotations

import torch
from torch import nn

from gpulearn_lessons.frameworks.networks import Architecture


def torch_network(network: Architecture, seed: int = 0) -> nn.Sequential:
    """Build a network for images of shape (n, channels, height, width).

    The seed is that of the first weights; the global generator is left as it was.

    >>> from gpulearn_lessons.frameworks.networks import LENET5
    >>> torch_network(LENET5)(torch.zeros(3, 1, 32, 32)).shape
    torch.Size([3, 10])
    """
    channels, height, width = network.shape
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for kind, *sizes in network.layers:
            if kind == "conv":
                filters, size = sizes
                layers += [nn.Conv2d(channels, filters, size), nn.ReLU()]
                channels = filters
                height, width = height - size + 1, width - size + 1
            elif kind == "pool":
                layers.append(nn.MaxPool2d(sizes[0]))
                height, width = height // sizes[0], width // sizes[0]
            else:
                if not any(isinstance(layer, nn.Flatten) for layer in layers):
                    layers.append(nn.Flatten())
                layers += [nn.Linear(channels * height * width, sizes[0]), nn.ReLU()]
                channels, height, width = sizes[0], 1, 1
    return nn.Sequential(*layers[:-1])  # no ReLU after the last

"""Two small classifiers of the digits, built from stages whose layers have names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.recompute import Stages
from gpulearn.train.settings import seeded


class LeNet(Stages):
    """A small convolutional network for images of shape (n, 1, 8, 8).

    Two stages of convolution, ReLU and pooling, then two linear layers, after LeNet-5 (LeCun et
    al., Gradient-Based Learning Applied to Document Recognition, Proceedings of the IEEE 86,
    1998), with today's ReLU and max-pooling and sized for 8 × 8 pixels.

    The first convolution has `width` channels, the second twice as many; `dropout` is the share of
    the features that training hides from the linear layers. The seed is that of the first weights;
    the global generator is left as it was.

    >>> import torch
    >>> model = LeNet(seed=0)
    >>> model(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    >>> sum(parameter.numel() for parameter in model.parameters())
    35914
    """

    def __init__(self, *, width: int = 32, dropout: float = 0.25, seed: int = 0) -> None:
        width = require.whole("width", width)
        if not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
            raise BadInput(f"dropout is {require.shown(dropout)}: give a share from 0 to below 1.")
        with seeded(seed):
            super().__init__()
            self.stage1 = _sequential(
                conv1=nn.Conv2d(1, width, 3, padding=1), relu1=nn.ReLU(), pool1=nn.MaxPool2d(2)
            )
            self.stage2 = _sequential(
                conv2=nn.Conv2d(width, 2 * width, 3, padding=1),
                relu2=nn.ReLU(),
                pool2=nn.MaxPool2d(2),
            )
            self.stage3 = _sequential(
                flatten=nn.Flatten(),
                dropout=nn.Dropout(dropout),
                linear1=nn.Linear(8 * width, 64),
                relu3=nn.ReLU(),
                linear2=nn.Linear(64, 10),
            )


class MLP(Stages):
    """Linear layers with ReLU between them, for images of any shape with `sizes[0]` pixels.

    The sizes say how many numbers go in, and how many come out of each layer; the seed is that of
    the first weights.

    >>> import torch
    >>> MLP((64, 32, 10))(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    """

    def __init__(self, sizes: Sequence[int] = (64, 128, 64, 10), *, seed: int = 0) -> None:
        if not isinstance(sizes, Sequence) or len(sizes) < 2:
            raise BadInput(f"sizes is {require.shown(sizes)}: give two or more, such as (64, 10).")
        sizes = [require.whole("an entry of sizes", size) for size in sizes]
        with seeded(seed):
            super().__init__()
            last = len(sizes) - 1
            for number in range(1, last + 1):
                layers: dict[str, nn.Module] = {"flatten": nn.Flatten()} if number == 1 else {}
                layers[f"linear{number}"] = nn.Linear(sizes[number - 1], sizes[number])
                if number < last:
                    layers[f"relu{number}"] = nn.ReLU()
                self.add_module(f"stage{number}", _sequential(**layers))


def _sequential(**layers: nn.Module) -> nn.Sequential:
    return nn.Sequential(OrderedDict(layers))

"""LeNet-5's layers for images of any size, with as many rows as there are images."""

from __future__ import annotations

from torch import Tensor, nn


class Reshape(nn.Module):
    """A layer that lays whatever comes out in rows of `width` numbers, as `view(-1, width)` does.

    >>> import torch
    >>> Reshape(400)(torch.zeros(25, 16, 4, 4)).shape
    torch.Size([16, 400])
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """All numbers of x, (…), in rows: (numbers / width, width)."""
        return x.reshape(-1, self.width)


def case_view(side: int, classes: int = 10) -> nn.Sequential:
    """A network for images of shape (n, 1, side, side): scores of shape (n, classes).

    Two stages of convolution and pooling leave 16 planes of side // 4 − 3 each way; the first
    linear layer takes all of them. Source: LeCun et al., Gradient-Based Learning Applied to
    Document Recognition, Proceedings of the IEEE 86, 1998, with today's ReLU and max-pooling.

    >>> sum(p.numel() for p in case_view(32).parameters())
    61706
    """
    left = side // 4 - 3
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        *(nn.Linear(16 * left * left, 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU()),
        nn.Linear(84, classes),
    )

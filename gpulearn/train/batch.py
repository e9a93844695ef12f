"""One look at images and labels before they are used, so that bad ones change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpulearn import require
from gpulearn.errors import BadInput

__all__ = ["check_batch", "tensor_of"]


def check_batch(images: Any, labels: Any) -> None:
    """Check that a batch has images, and one class of each.

    Raises:
        BadInput: it is empty, not as many images as labels, or the labels are no classes.
    """
    for name, value in (("images", images), ("labels", labels)):
        if not isinstance(value, Tensor) or value.ndim == 0:
            raise BadInput(f"{name} is {require.shown(value)}: give a tensor with a batch.")
    if len(images) != len(labels) or len(labels) == 0:
        raise BadInput(
            f"The batch has {len(images)} images and {len(labels)} labels: give as many of "
            f"each, and at least one."
        )
    if labels.ndim != 1 or labels.dtype not in (torch.int64, torch.uint8):
        raise BadInput(
            f"labels has shape {tuple(labels.shape)} and dtype {str(labels.dtype)[6:]}: give one "
            f"class an image, (n,) of int64."
        )
    # a GPU would have to be waited for
    if labels.device.type == "cpu" and (low := labels.min().item()) < 0:
        raise BadInput(f"labels holds {low}: classes are counted from 0.")


def tensor_of(name: str, value: Any) -> Tensor:
    """An array or a tensor in the dtype that its name asks for: float32, labels int64.

    Raises:
        BadInput: it holds no numbers, or labels are not one whole number an image.
    """
    is_label = name.endswith("labels")
    try:
        tensor = value.detach() if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
    except (TypeError, ValueError):
        raise BadInput(f"{name} is {require.shown(value)}: give an array of numbers.") from None
    if is_label and (tensor.ndim != 1 or tensor.is_floating_point() or tensor.is_complex()):
        raise BadInput(
            f"{name} has shape {tuple(tensor.shape)} and dtype {str(tensor.dtype)[6:]}: give one "
            f"whole number an image."
        )
    if not is_label and (tensor.ndim < 2 or tensor.is_complex()):
        raise BadInput(
            f"{name} has shape {tuple(tensor.shape)}: give images of real numbers, (n, …)."
        )
    return tensor.long() if is_label else tensor.float()

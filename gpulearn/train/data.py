"""The data of a run: checked before it is used, handed out in shuffled batches, and evaluated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.train.settings import undisturbed

BATCH = 1024  # images at a time in an evaluation, so that memory does not grow with the data


def check_batch(images: Any, labels: Any, part: str = "") -> None:
    """Check that there are images, and one class for each; `part` is as in "train_images"."""
    for name, value in (("images", images), ("labels", labels)):
        if not isinstance(value, Tensor) or value.ndim == 0:
            raise BadInput(f"{name} is {require.shown(value)}: give a tensor with a batch.")
    if len(images) != len(labels) or len(labels) == 0:
        raise BadInput(
            f"There are {len(images)} {part}images and {len(labels)} {part}labels: give as many of "
            f"each, and at least one."
        )
    if labels.ndim != 1 or labels.dtype not in (torch.int64, torch.uint8):
        raise BadInput(
            f"{part}labels has shape {tuple(labels.shape)} and dtype {str(labels.dtype)[6:]}: give "
            f"one class an image, (n,) of int64."
        )
    # a GPU would have to be waited for
    if labels.device.type == "cpu" and (low := labels.min().item()) < 0:
        raise BadInput(f"{part}labels holds {low}: classes are counted from 0.")


def check_classes(labels: Tensor, classes: int, part: str = "") -> None:
    """Check that no label is above those that a model tells apart."""
    if (high := labels.max().item()) >= classes:
        raise BadInput(
            f"{part}labels holds {high}, but the model tells {classes} classes apart: labels go "
            f"from 0 to {classes - 1}."
        )


def tensor_of(name: str, value: Any) -> Tensor:
    """An array or a tensor: images as float32, labels as int64 where they are whole numbers."""
    try:
        tensor = value.detach() if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
    except (TypeError, ValueError):
        raise BadInput(f"{name} is {require.shown(value)}: give an array of numbers.") from None
    if name.endswith("labels"):
        return tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.long()
    if tensor.ndim < 2 or tensor.is_complex():
        raise BadInput(
            f"{name} has shape {tuple(tensor.shape)}: give images of real numbers, (n, …)."
        )
    return tensor.float()


def check_float32(model: nn.Module) -> None:
    """Check that all parameters are float32, whatever the precision of the passes."""
    for name, p in model.named_parameters():
        if p.dtype != torch.float32:
            raise BadInput(f"{name} is of {str(p.dtype)[6:]}: give model.float().")


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's parameters; the CPU for a model without any."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


class TrainingData(NamedTuple):
    """Images (n, …) float32 and labels (n,) int64, to train on and to test on."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def training_data(data: Any, model: nn.Module) -> TrainingData:
    """Bring four arrays or tensors into shape, and try one image on the model."""
    if not isinstance(data, (tuple, list)) or len(data) != 4:
        raise BadInput(
            f"data is {require.shown(data)}: give gl.digits(), or four arrays (training images "
            f"and labels, test images and labels)."
        )
    tensors = TrainingData(
        *(tensor_of(*entry).cpu() for entry in zip(TrainingData._fields, data, strict=True))
    )
    check_batch(*tensors[:2], "train_")
    check_batch(*tensors[2:], "test_")
    if tensors.train_images.shape[1:] != tensors.test_images.shape[1:]:
        raise BadInput(
            f"Training images have shape {tuple(tensors.train_images.shape[1:])} and test images "
            f"{tuple(tensors.test_images.shape[1:])}: they must be alike."
        )
    classes = _classes(model, tensors.train_images[:1])
    check_classes(tensors.train_labels, classes, "train_")
    check_classes(tensors.test_labels, classes, "test_")
    return tensors


def make_loader(
    data: TrainingData, batch: int, generator: torch.Generator, device: torch.device
) -> DataLoader[tuple[Tensor, ...]]:
    """Batches of images, labels and the images' numbers, in an order drawn anew each epoch.

    Pinned memory lets a GPU fetch a batch while the host continues.
    """
    numbered = TensorDataset(data.train_images, data.train_labels, torch.arange(len(data[0])))
    pinned = device.type == "cuda"
    return DataLoader(numbered, batch, shuffle=True, generator=generator, pin_memory=pinned)


def _classes(model: nn.Module, image: Tensor) -> int:
    """How many classes the model tells apart, by its scores for one image."""
    was_training = model.training
    model.eval()
    try:
        with undisturbed(device_of(model)), torch.enable_grad():
            scores = model(image.to(device_of(model)))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        message = str(error).splitlines()[0]
        raise BadInput(
            f"The model takes no images of shape {tuple(image.shape[1:])}: torch says {message!r}."
        ) from None
    finally:
        model.train(was_training)
    if not isinstance(scores, Tensor) or scores.ndim != 2 or len(scores) != 1:
        raise BadInput(
            f"The model gives {require.shown(scores)} for one image: it must give scores of "
            f"shape (1, classes)."
        )
    if not scores.requires_grad:
        raise BadInput(
            f"The scores of {type(model).__name__} do not depend on what it can train: is there a "
            f"detach() or no_grad() in its forward?"
        )
    return scores.shape[1]


def evaluate(model: nn.Module, images: Any, labels: Any) -> tuple[float, float]:
    """Mean cross-entropy and accuracy (0 to 1) over arrays or tensors (n, …) and (n,).

    >>> from gpulearn import digits
    >>> from gpulearn.train.models import MLP
    >>> loss, accuracy = evaluate(MLP(), digits().test_images, digits().test_labels)
    >>> 0 <= accuracy <= 1
    True
    """
    targets, inputs = tensor_of("labels", labels), tensor_of("images", images)
    check_batch(inputs, targets)
    scores = _scores(model, inputs)
    check_classes(targets, scores.shape[1])
    loss = functional.cross_entropy(scores, targets.to(scores.device))
    return loss.item(), float((scores.argmax(dim=1).cpu() == targets.cpu()).float().mean())


def classify(model: nn.Module, images: Any) -> np.ndarray[Any, Any]:
    """The class of each image (n, …) with the highest score, int64 of shape (n,)."""
    return np.asarray(_scores(model, tensor_of("images", images)).argmax(dim=1).cpu())


def _scores(model: nn.Module, images: Tensor) -> Tensor:
    """Scores (n, classes) without gradients, in evaluation mode; the mode is put back."""
    was_training, device = model.training, device_of(model)
    model.eval()
    try:
        with torch.no_grad():
            return torch.cat([model(part.to(device)) for part in images.split(BATCH)]).float()
    finally:
        model.train(was_training)

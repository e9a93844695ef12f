"""Dense networks of our own Variables: built, trained on the digits, and inspected.

A layer is a matrix of weights, (n, m), and a row of biases, (m,). The function of a
hidden layer can be chosen; the last layer returns a score for each class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.data.digits import digits
from gpulearn.errors import BadInput, TrainingError
from gpulearn.nn.autograd import Variable
from gpulearn.optim.optimizers import gradient_step

Array = np.ndarray[Any, Any]
Layer = tuple[Variable, Variable]
Hidden = Callable[[Variable, Variable, Variable], Variable]
STEPS, BATCH = 300, 64  # of a training


def dense_layers(sizes: Sequence[int], spread: str = "he", dtype: Any = np.float32) -> list[Layer]:
    """Layers with random weights around zero and biases of zero.

    For a layer of n inputs and m outputs the weights' standard deviation is √(2/n) with "he"
    (He, Zhang, Ren and Sun, "Delving deep into rectifiers", ICCV 2015, equation 10), and
    √(2/(n + m)) with "glorot" (Glorot and Bengio, "Understanding the difficulty of training deep
    feedforward neural networks", AISTATS 2010, equation 12); both are normal distributions here.

    Args:
        sizes: inputs, units of each hidden layer, classes.
        spread: "he" or "glorot".
        dtype: float32, or float64 where gradients are checked by differences.

    >>> [(w.shape, b.shape) for w, b in dense_layers([64, 32, 10])]
    [((64, 32), (32,)), ((32, 10), (10,))]
    """
    if len(sizes) < 2:
        raise BadInput(f"sizes is {require.shown(sizes)}: give inputs, hidden units and classes.")
    units = [require.whole("an entry of sizes", size) for size in sizes]
    require.choice("spread", spread, ("he", "glorot"))
    rng = np.random.default_rng(0)
    layers = []
    for number, (n, m) in enumerate(itertools.pairwise(units), 1):
        deviation = math.sqrt(2 / (n if spread == "he" else n + m))
        weights = rng.normal(0, deviation, (n, m)).astype(dtype)
        biases = np.zeros(m, dtype)
        layers.append((Variable(weights, f"W{number}"), Variable(biases, f"b{number}")))
    return layers


def relu_layer(x: Variable, weights: Variable, biases: Variable) -> Variable:
    """The usual hidden layer: max(x·W + b, 0)."""
    return (x @ weights + biases).relu()


def dense_values(
    images: Array, layers: Sequence[Layer], hidden: Hidden = relu_layer
) -> list[Variable]:
    """The outputs of each layer for images (batch, n): hidden ones, (batch, units), then scores.

    `hidden` is the function of every layer but the last: input, weights and biases → output.
    """
    *inner, (last_weights, last_biases) = layers
    values, x = [], Variable(images, "x", requires_grad=False)
    for weights, biases in inner:
        x = hidden(x, weights, biases)
        values.append(x)
    return [*values, x @ last_weights + last_biases]


@dataclass(frozen=True)
class TrainingFit:
    """The result of a training."""

    losses: list[float]  # the loss of each step's batch, before the step
    accuracy: float  # the fraction of the held-out digits that is recognized
    # for each hidden layer, the fraction of units that output zero for every training digit: no
    # gradient flows back through such a unit, and with ReLU it is called dead
    silent: list[float]

    def __repr__(self) -> str:
        return (
            f"loss {self.losses[0]:.3g} → {np.mean(self.losses[-20:]):.3g} (mean of the last 20 "
            f"steps), {self.accuracy:.1%} of the held-out digits right, "
            f"{np.mean(self.silent):.0%} of the hidden units silent"
        )


def fit_dense(layers: Sequence[Layer], *, lr: float, hidden: Hidden = relu_layer) -> TrainingFit:
    """Train layers on the digits, in place, by 300 steps of plain gradient descent.

    A batch is 64 digits, drawn at random with replacement. Raises a TrainingError that names the
    step where the loss is no finite number.
    """
    data, rng, losses = digits(), np.random.default_rng(0), []
    images = data.train_images.reshape(len(data.train_labels), -1)
    parameters = [parameter for layer in layers for parameter in layer]
    for number in range(STEPS):
        drawn = rng.integers(0, len(images), BATCH)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            scores = dense_values(images[drawn], layers, hidden)[-1]
            loss = scores.softmax_cross_entropy(data.train_labels[drawn])
        losses.append(float(loss.data))
        if not math.isfinite(losses[-1]):
            raise TrainingError(
                f"The loss of step {number} is {losses[-1]}: reduce the rate, {lr:g}, or the "
                f"initial weights."
            )
        for parameter in parameters:
            parameter.zero_grad()
        loss.backward()
        for parameter in parameters:
            parameter.data, _ = gradient_step(parameter.data, parameter.grad, lr=lr)
    test = dense_values(data.test_images.reshape(len(data.test_labels), -1), layers, hidden)
    right = test[-1].data.argmax(axis=1) == data.test_labels
    inner = dense_values(images, layers, hidden)[:-1]
    silent = [float((value.data == 0).all(axis=0).mean()) for value in inner]
    return TrainingFit(losses, float(right.mean()), silent)


def gradient_norms(
    images: Array, labels: Array, layers: Sequence[Layer], hidden: Hidden = relu_layer
) -> list[float]:
    """The norm of the gradient of the loss with respect to each layer's weights, in order.

    Images have shape (batch, n), labels (batch,); the layers' gradients are None afterwards.
    """
    dense_values(images, layers, hidden)[-1].softmax_cross_entropy(labels).backward()
    norms = [float(np.linalg.norm(weights.grad)) for weights, _ in layers]  # type: ignore[arg-type]
    for layer in layers:
        for parameter in layer:
            parameter.zero_grad()
    return norms

"""A network of a list of layers in Keras, with weights that come from torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn_lessons.frameworks.networks import Architecture

Array = np.ndarray[Any, Any]


def keras_network(network: Architecture, weights: Sequence[Array] | None = None) -> Any:
    """Build a network for images of shape (n, height, width, channels).

    Its weights are as `torch_networks.weights_of` gives them; new ones if None.
    """
    from tensorflow import keras

    channels, height, width = network.shape
    layers: list[Any] = [keras.layers.Input((height, width, channels))]
    flat = False
    for place, (kind, *sizes) in enumerate(network.layers):
        last = place == len(network.layers) - 1
        if kind == "conv":
            layers.append(keras.layers.Conv2D(*sizes, activation="relu"))
        elif kind == "pool":
            layers.append(keras.layers.MaxPooling2D(sizes[0]))
        else:
            if not flat:
                layers.append(keras.layers.Flatten())
                flat = True
            layers.append(keras.layers.Dense(sizes[0], activation=None if last else "relu"))
    model = keras.Sequential(layers)
    if weights is not None:
        model.set_weights(in_keras_order(model, weights))
    return model


def in_keras_order(model: Any, weights: Sequence[Array]) -> list[Array]:
    """Torch's weights with the axes that Keras wants.

    A convolution has (filters, channels, size, size) in torch and (size, size, channels,
    filters) in Keras, a dense layer (outputs, inputs) and (inputs, outputs). Torch flattens an
    image channel by channel, Keras pixel by pixel, so the first dense layer's inputs change
    their order too.
    """
    found, given, shape = [], iter(weights), model.input_shape
    for layer in model.layers:
        name = type(layer).__name__
        if name == "Flatten":
            shape = layer.input.shape
        if name not in ("Conv2D", "Dense"):
            continue
        weight, bias = next(given), next(given)
        if name == "Conv2D":
            weight = weight.transpose(2, 3, 1, 0)
        else:
            if shape is not None:
                _, height, width, channels = shape
                apart = weight.reshape(-1, channels, height, width)
                weight, shape = apart.transpose(0, 2, 3, 1).reshape(len(weight), -1), None
            weight = weight.T
        found += [weight, bias]
    return found

"""A network of a list of layers in JAX: a function of its weights and of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn_lessons.frameworks.networks import Architecture


def jax_scores(network: Architecture, weights: Sequence[Any], images: Any) -> Any:
    """What a network makes of images: scores of shape (n, outputs).

    JAX has no layers of its own: a network is a function, and its weights are one of its
    arguments.

    Args:
        network: its shape and layers.
        weights: each layer's weight and bias, with torch's shapes.
        images: of shape (n, channels, height, width).
    """
    import jax

    given, x = iter(weights), images
    for place, (kind, *sizes) in enumerate(network.layers):
        if kind == "pool":
            window = (1, 1, sizes[0], sizes[0])
            x = jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, window, window, "VALID")
            continue
        weight, bias = next(given), next(given)
        if kind == "conv":
            x = jax.lax.conv(x, weight, (1, 1), "VALID") + bias[:, None, None]
        else:
            x = x.reshape(len(x), -1) @ weight.T + bias
        if place < len(network.layers) - 1:
            x = jax.nn.relu(x)
    return x

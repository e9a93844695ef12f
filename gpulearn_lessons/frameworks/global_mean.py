"""A replica's part of the mean loss over a global batch."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def average_loss(losses: Array, global_batch: int, weights: Array | None = None) -> float:
    """One replica's part of the mean: the parts of all replicas add up to it.

    The same as TensorFlow's `tf.nn.compute_average_loss`: Σ wᵢ·lossᵢ / global batch. Weights
    scale losses and do not change the divisor.

    Losses and weights (each 1 if None) are those of this replica's rows, of shape (n,); n may be 0.

    >>> parts = [average_loss(np.array([1.0, 2.0]), 3), average_loss(np.array([6.0]), 3)]
    >>> parts, sum(parts)
    ([1.0, 2.0], 3.0)
    """
    weighted = losses if weights is None else losses * weights
    return float(weighted.sum() / global_batch)

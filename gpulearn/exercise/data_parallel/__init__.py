"""The exercises of notebook 14: gradients averaged, data dealt out, buckets, rates, efficiency."""

from __future__ import annotations

from gpulearn.exercise.data_parallel import (
    average_gradients,
    bucket_gradients,
    scaled_learning_rate,
    scaling_efficiency,
    shard_indices,
)

__all__ = ["EXERCISES"]

EXERCISES = (
    average_gradients.EXERCISE,
    shard_indices.EXERCISE,
    bucket_gradients.EXERCISE,
    scaled_learning_rate.EXERCISE,
    scaling_efficiency.EXERCISE,
)

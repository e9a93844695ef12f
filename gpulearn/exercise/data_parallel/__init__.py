"""The exercises of notebook 16: gradients averaged, data dealt out, buckets, rates, efficiency."""

NOTEBOOK = "16_data_parallel"
EXERCISES = (
    "average_gradients",
    "shard_indices",
    "bucket_gradients",
    "scaled_learning_rate",
    "scaling_efficiency",
)

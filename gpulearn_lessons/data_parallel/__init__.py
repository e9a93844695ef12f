"""The exercises of notebook 16: data dealt out, gradients averaged, buckets, silent replicas."""

NOTEBOOK = "16_data_parallel"
EXERCISES = (
    "shard_indices",
    "average_gradients",
    "bucket_gradients",
    "send_when_full",
    "mend_the_replicas",
)

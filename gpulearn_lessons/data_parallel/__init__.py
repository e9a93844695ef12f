"""The exercises of notebook 16: shards, averaged gradients, buckets, a script for torchrun."""

NOTEBOOK = "16_data_parallel"
EXERCISES = (
    "shard_indices",
    "average_gradients",
    "bucket_gradients",
    "send_when_full",
    "mend_the_replicas",
    "mend_the_script",
)

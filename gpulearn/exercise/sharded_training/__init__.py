"""The exercises of notebook 20: state, gradients and weights in shards, their memory, files."""

NOTEBOOK = "20_sharded_training"
EXERCISES = (
    "zero_memory",
    "shard_optimizer_state",
    "reduce_scatter_gradients",
    "gather_and_free",
    "reshard_checkpoint",
)

"""The exercises of notebook 18: state, gradients and weights in shards, their memory, files."""

from gpulearn.lazy import attach

NOTEBOOK = "18_sharded_training"
EXERCISES = (
    "zero_memory",
    "shard_optimizer_state",
    "reduce_scatter_gradients",
    "gather_and_free",
    "reshard_checkpoint",
)

__getattr__, __dir__ = attach(__name__, __file__)

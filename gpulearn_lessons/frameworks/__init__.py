"""The exercises of notebook A: parameters, what a loss is divided by, a step, shards on a mesh."""

NOTEBOOK = "A_frameworks"
EXERCISES = ("count_parameters", "average_loss", "distributed_step", "device_shards")

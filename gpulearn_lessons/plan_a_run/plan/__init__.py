"""Plans of cluster runs: time, utilization, memory, cost and energy of training a Transformer."""

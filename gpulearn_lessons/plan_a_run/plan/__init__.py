"""Plans of cluster runs: time, utilisation, memory, cost and energy of training a Transformer."""

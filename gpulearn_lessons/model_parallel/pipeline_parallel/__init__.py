"""Pipeline parallelism: stages of a model on ranks, and the order of their work as data."""

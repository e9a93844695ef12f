"""Faults of a run on many ranks: deaths and checkpoints, hangs and stragglers, what to watch."""

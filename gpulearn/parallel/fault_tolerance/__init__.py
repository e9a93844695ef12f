"""Faults of a run on many ranks: deaths and checkpoints, hangs, stragglers."""

"""Lockstep execution: each statement for all threads at once, under a mask."""

"""Simulated ranks: who runs, what a message costs, and who waits for whom."""

"""Notebook 06 on a GPU: every rung and the library by size, and the ideas for the top rung."""

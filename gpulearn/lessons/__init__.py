"""Exercises: how an answer is judged, what it is told, and what has been solved."""

"""Recordings made on a visit: the step that makes one, and those that only a visit makes."""

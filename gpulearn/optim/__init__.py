"""Gradient descent on arrays: steps, schedules, surfaces to walk on, and the paths taken."""

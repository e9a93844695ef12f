"""A course pack: chosen notebooks and exercises, ready to be handed out and graded."""

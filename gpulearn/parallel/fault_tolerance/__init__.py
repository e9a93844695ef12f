"""What keeps a long training going: restarts, checkpoints, watchdogs, how often to save."""

"""What watches a launch: counters, race detection, initialized memory, the trace."""

"""What watches a launch: counters, race detection, initialised memory, the trace."""

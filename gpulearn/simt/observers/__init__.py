"""What watches a launch: counters, races, uninitialised memory, the trace."""

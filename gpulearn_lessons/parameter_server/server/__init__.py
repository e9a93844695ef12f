"""A parameter server and what needs none: staleness, fail-over, local steps, clients."""

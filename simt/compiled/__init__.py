"""Compiled launches: a kernel as loops over blocks and threads, by Numba's CPU compiler."""

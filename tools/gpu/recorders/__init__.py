"""Recordings that are only made on a visit: no figure measures them on the spot."""

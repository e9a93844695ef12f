"""Data that comes with the package, as NumPy arrays."""

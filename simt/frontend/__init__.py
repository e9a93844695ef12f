"""From a kernel's source to a program: read, checked by Numba, translated once."""

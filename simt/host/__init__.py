"""The host's side of `numba.cuda`: launches, device arrays, streams, devices, ufuncs."""

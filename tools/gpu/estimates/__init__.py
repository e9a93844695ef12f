"""How far `gl.estimate` is from the recorded times of all kernels, and why."""

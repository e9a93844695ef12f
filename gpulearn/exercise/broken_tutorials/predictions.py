"""What notebook 22 asks beforehand."""

PREDICTIONS = ()

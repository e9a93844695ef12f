"""The functions that the notebooks are about, plain form first."""

"""What runs on a machine with a GPU: tests, recordings and comparisons, by `make gpu`."""

"""What a machine with a GPU is asked: `make gpu`."""

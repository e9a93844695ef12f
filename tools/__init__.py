"""What needs a checkout of the project and is not installed with it."""

"""One visit to a machine with a GPU: the steps of `make gpu` and what they brought."""

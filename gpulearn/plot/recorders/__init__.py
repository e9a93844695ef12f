"""What is recorded on a GPU for the notebooks: a module for each family of figures.

Each has a `record_…` of its own name that measures and returns a `Recording`, with sizes as
parameters, and what the notebooks ask for: measured where there is a GPU, else recorded, which
`make gpu` does.
"""

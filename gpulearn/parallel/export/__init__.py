"""A notebook's function as a script: what it uses, found and written down."""

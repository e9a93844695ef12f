"""The same training in other frameworks, which are an optional extra."""

"""Work on streams: operations, the order that CUDA promises for them, and what nothing orders."""

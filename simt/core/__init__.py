"""What all layers share: values, masks, memory, chunks, sources, findings, limits."""

"""What everything in the machine rests on: values, masks, memory, findings, limits."""

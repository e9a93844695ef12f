"""Programs of many ranks that are often written wrongly, and what tells the mistakes apart."""

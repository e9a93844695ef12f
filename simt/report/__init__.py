"""What a launch left behind: findings and counters, as text, HTML and JSON."""

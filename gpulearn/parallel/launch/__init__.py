"""Real ranks: starts processes, passes on what they print, and tells what became of them."""

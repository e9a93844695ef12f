"""What runs apart from the grader: walls, the process behind them, and what passes through."""

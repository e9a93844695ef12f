"""The exercises, by topic: task, cases, known wrong and right answers, hints."""

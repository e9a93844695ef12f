"""The engine of the checks: runs an answer apart, compares, diagnoses, holds costs to budgets."""

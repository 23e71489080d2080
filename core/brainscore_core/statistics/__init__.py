"""Compute errors, averages, tests and correlations of scores, on plain arrays."""

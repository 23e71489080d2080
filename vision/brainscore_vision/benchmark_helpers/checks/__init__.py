"""Checks of benchmarks' parts and results."""

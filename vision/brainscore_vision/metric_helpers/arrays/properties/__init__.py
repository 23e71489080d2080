"""Describe single neurons by their tuning, and compare distributions of the resulting properties."""

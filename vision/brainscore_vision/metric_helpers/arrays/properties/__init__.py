"""Describe neurons one by one: tuning, and distributions of what tuning gives."""

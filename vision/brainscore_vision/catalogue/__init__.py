"""Registered data, found without running plugins."""

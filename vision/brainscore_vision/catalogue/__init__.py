"""Registered data: found without running plugins, verified and managed in the cache."""

"""Bring assemblies to arrays whose rows belong together, and results back to labels."""

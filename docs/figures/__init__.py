"""Figures of the site, each a module with `measure`, which computes what is shown, and `draw`."""

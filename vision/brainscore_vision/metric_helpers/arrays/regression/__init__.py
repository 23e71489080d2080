"""Fit linear maps and predict what was left out, for many splits at once."""

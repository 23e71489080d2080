"""Fit regressions and decoders, and predict the held-out stimuli of many splits at once."""

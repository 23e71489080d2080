"""Fit, predict and correlate: the engine that all regression metrics share."""
